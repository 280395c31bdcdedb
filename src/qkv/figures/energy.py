"""What chapter 13 draws: a softmax among all distributions, two memories, kernel regression, contrast, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.recurrence import headline, powers
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILION, WEIGHTS, WIDTH

ORDER: tuple[tuple[str, str, Any], ...] = (
    (BLUE, "o", "-"),
    (VERMILION, "s", "--"),
    (GREEN, "^", "-."),
    (PURPLE, "v", ":"),
    (ORANGE, "D", (0, (3, 1, 1, 1))),
)
# Arrangements of patterns in the plane, for the landscape.
LAYOUTS: dict[str, list[list[float]]] = {
    "four apart": [[1.6, 1.3], [-1.5, 1.4], [-1.4, -1.5], [1.7, -1.2]],
    "two close together": [[1.4, 1.0], [1.7, 0.5], [-1.5, 0.6], [-0.4, -1.7]],
    "one longer than the rest": [[2.1, 1.5], [-0.9, 0.9], [-0.8, -1.0], [1.0, -0.9]],
}
BETAS = (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
EDGE = 2.6  # the landscape reaches from -EDGE to EDGE


def simplex(objective: Callable[[Tensor, Tensor, float], Tensor], scores: Tensor, betas: Sequence[float]) -> Figure:
    """All distributions over three things as a triangle, coloured by their objective, once for each beta.

    Args:
        objective: of a distribution, scores and beta.
        scores: of the three (3,).
        betas: one triangle for each.
    """
    steps = 60
    grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    p = torch.tensor(grid) / steps
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]])
    x, y = (p @ corners).T
    fig, axes = plt.subplots(1, len(betas), figsize=(WIDTH, 2.6))
    for ax, beta in zip(axes, betas, strict=True):
        value = objective(p, scores.expand_as(p), beta)
        ax.tricontourf(x.numpy(), y.numpy(), value.numpy(), levels=14, cmap="qkv_weights")
        best = torch.softmax(beta * scores, -1) @ corners
        top = p[value.argmax()] @ corners
        ax.plot(*top, marker="x", color=VERMILION, markersize=9, markeredgewidth=2, linestyle="none")
        ax.plot(*best, marker="o", color=INK, markersize=13, fillstyle="none", linestyle="none")
        for corner, score, where in zip(corners, scores, ("right", "left", "center"), strict=True):
            below = -0.05 if corner[1] == 0 else 0.9
            ax.text(corner[0], below, f"{score:g}", ha=where, va="top" if corner[1] == 0 else "bottom", fontsize=9.5)
        ax.set_title(f"$\\beta$ = {beta:g}", fontsize=10.5, weight="normal", loc="center")
        ax.set(xlim=(-0.15, 1.15), ylim=(-0.18, 1.05))
        ax.set_aspect("equal")
        ax.axis("off")
    headline(fig, "Which distribution is best?")
    return fig


def remembered(results: Mapping[str, tuple[Sequence[int], Tensor]]) -> Figure:
    """How much of what was stored comes back whole, against how many patterns were stored.

    Args:
        results: memory -> how many patterns, and shares (seed, how many).
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.3))
    for (name, (n, share)), (colour, marker, dash) in zip(results.items(), ORDER[: len(results)], strict=True):
        ax.errorbar(
            n, share.mean(0), yerr=share.std(0), color=colour, marker=marker, linestyle=dash, label=name, clip_on=False
        )
    every = sorted({count for n, _ in results.values() for count in n})
    powers(ax, [count for count in every if count in (2, 8, 16, 64, 256, 1024, 4096, 16384)], stretch=1.3)
    ax.set(title="How many patterns come back whole?", xlabel="patterns stored", ylabel="recalled", ylim=(0, 1.06))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def bound(estimates: Mapping[str, Tensor], n: Sequence[int]) -> Figure:
    """What InfoNCE can show of the information between pairs, against the number of keys.

    Args:
        estimates: how strongly the pairs are tied -> estimates in nats (seed, number of keys).
        n: how many keys there are, the right one included.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    ax.plot(n, torch.tensor(n).log(), color=GREY, linewidth=1.2, linestyle=":", label="log N")
    for (name, found), (colour, marker, dash) in zip(estimates.items(), ORDER[: len(estimates)], strict=True):
        ax.errorbar(n, found.mean(0), yerr=found.std(0), color=colour, marker=marker, linestyle=dash, label=name)
    powers(ax, n, stretch=1.2)
    ax.set(title="How much information can be seen?", xlabel="keys $N$", ylabel="nats", ylim=(0, None))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def pulled(steps: Sequence[int], curves: Mapping[str, Tensor]) -> Figure:
    """What is between -0.2 and 1 against the steps of a training.

    Args:
        steps: when it was measured.
        curves: what -> numbers (seed, step).
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.1))
    at = [step + 1 for step in steps]  # a logarithmic axis has no 0
    for (name, found), (colour, marker, dash) in zip(curves.items(), ORDER[: len(curves)], strict=True):
        ax.errorbar(at, found.mean(0), yerr=found.std(0), color=colour, marker=marker, linestyle=dash, label=name)
    ax.set(
        xscale="log", title="When is attention's gradient a contrast?", xlabel="steps of training", ylim=(-0.2, 1.06)
    )
    ax.xaxis.set_major_locator(FixedLocator(at))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value - 1:.0f}"))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def gallery(pictures: Tensor, captions: Sequence[str]) -> Figure:
    """Small pictures in a row with the captions that belong to them.

    Args:
        pictures: (picture, height, width).
        captions: one for each.
    """
    fig, axes = plt.subplots(1, len(captions), figsize=(WIDTH, 1.9))
    for ax, picture, words in zip(axes, pictures, captions, strict=True):
        ax.imshow(picture.numpy(), cmap="qkv_weights", vmin=-0.5, vmax=1.5)
        ax.set_xlabel(words, fontsize=9)
        ax.set(xticks=[], yticks=[])
        ax.grid(False)
    headline(fig, "Which words belong to which picture?")
    return fig


def by_temperature(results: Mapping[str, Mapping[float, Tensor]]) -> Figure:
    """Share of right captions against the temperature at which a model was trained.

    Args:
        results: how it was trained -> temperature -> accuracies (seed,).
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.1))
    marks = sorted({temperature for runs in results.values() for temperature in runs})
    for (name, runs), (colour, marker, dash) in zip(results.items(), ORDER[: len(results)], strict=True):
        found = torch.stack(list(runs.values()))
        line = dash if len(runs) == len(marks) else "none"  # nothing is drawn where nothing was measured
        ax.errorbar(
            list(runs), found.mean(1), yerr=found.std(1), color=colour, marker=marker, linestyle=line, label=name
        )
    ax.set(
        xscale="log",
        title="At which temperature is a caption learned?",
        xlabel="temperature",
        ylabel="right captions",
        ylim=(0, 1.06),
    )
    ax.xaxis.set_major_locator(FixedLocator(marks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def landscape(beta: float = 2.0, x: float = 0.4, y: float = 0.6) -> Interactive:
    """Patterns in a plane, the energy between them, and the way of a state; all of them can be dragged.

    Args:
        beta: at first.
        x: where the state begins, across.
        y: where it begins, up.
    """
    places = [round(-2.4 + 0.2 * k, 1) for k in range(25)]
    return interactive(
        "Where does a state end?",
        controls=[
            Slider("beta", "beta", BETAS, beta),
            Choice("layout", "patterns", tuple(LAYOUTS), "four apart"),
            Slider("x", "state, across", places, x),
            Slider("y", "state, up", places, y),
        ],
        draw="landscape.js",
        still=still_landscape(beta, x, y),
        alt="Four patterns in a plane. Each lies in a valley of the energy, drawn as bands. A state begins between "
        "them and its path of dots leads to the nearest pattern.",
        data={"layouts": LAYOUTS, "edge": EDGE},
    )


def still_landscape(beta: float, x: float, y: float) -> Figure:
    """The first state of the landscape."""
    patterns = torch.tensor(LAYOUTS["four apart"])
    across = torch.linspace(-EDGE, EDGE, 80)
    grid = torch.cartesian_prod(across, across)
    energy = grid.square().sum(-1) / 2 - torch.logsumexp(beta * grid @ patterns.T, -1) / beta
    path = [torch.tensor([x, y])]
    for _ in range(12):
        path.append(torch.softmax(beta * patterns @ path[-1], 0) @ patterns)
    fig, ax = plt.subplots(figsize=(WIDTH, 3.6))
    ax.contourf(across, across, energy.view(80, 80).T.numpy(), levels=14, cmap=WEIGHTS.reversed())
    ax.plot(*patterns.T.numpy(), marker="o", linestyle="none", color=VERMILION, markersize=8)
    ax.plot(*torch.stack(path).T.numpy(), marker="o", color=INK, markersize=4)
    ax.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.grid(False)
    return fig


def regression(
    points: Tensor, values: Tensor, truth: Callable[[Tensor], Tensor], bandwidth: float = 0.3
) -> Interactive:
    """Noisy points of a curve, its estimate at a bandwidth that the reader sets, and the weights of one query.

    Args:
        points: where the curve is known (n,).
        values: what was seen there (n,).
        truth: the curve itself, of a tensor of places.
        bandwidth: at first.
    """
    low, high = 0.0, 5.0
    across = torch.linspace(low, high, 101)
    wide = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.5)
    return interactive(
        "How far should a point be heard?",
        controls=[
            Slider("bandwidth", "bandwidth", wide, bandwidth),
            Slider("query", "query", [round(0.1 * k, 1) for k in range(51)], 2.0),
        ],
        draw="kernel_regression.js",
        still=still_regression(points, values, truth(across), across, bandwidth),
        alt="Noisy points around a curve that rises and falls. The estimate is an average of the points near each "
        "place, and follows the curve; the points near the query are large, those far from it small.",
        data={
            "x": [round(v, 3) for v in points.tolist()],
            "y": [round(v, 3) for v in values.tolist()],
            "truth": [round(v, 3) for v in truth(across).tolist()],
            "low": low,
            "high": high,
        },
    )


def still_regression(points: Tensor, values: Tensor, truth: Tensor, across: Tensor, bandwidth: float) -> Figure:
    """The first state of the regression."""
    scores = -(across[:, None] - points).square() / (2 * bandwidth**2)
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    ax.plot(across, truth, color=GREY, linestyle=":", label="the curve")
    ax.plot(across, scores.softmax(-1) @ values, color=BLUE, label="its estimate")
    near = torch.softmax(-(2.0 - points).square() / (2 * bandwidth**2), 0)
    ax.scatter(points, values, s=8 + 600 * near, color=VERMILION, alpha=0.55, label="points")
    ax.axvline(2.0, color=INK, linewidth=0.9, linestyle=":")
    ax.set(xlabel="$x$", ylabel="$y$")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig
