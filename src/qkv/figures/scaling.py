"""What chapter 02 draws: how far scores scatter, what a softmax passes back, and what that does to learning."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, VERMILION, WIDTH

WIDTHS = (1, 4, 16, 64, 256, 1024)  # of the figure that moves, and what else can be set there
DIVISORS = {"nothing": 0.0, "√d": 0.5, "d": 1.0}  # and the power of d that it is
TEMPERATURES = (0.25, 0.5, 1, 2, 4)
SCALED, UNSCALED = BLUE, VERMILION  # throughout the chapter
DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", "--", "-.", ":")


def scatter_of_scores(raw: Mapping[int, Tensor], scaled: Mapping[int, Tensor]) -> Figure:
    """The distribution of scores for several widths, as they are and after the division.

    Args:
        raw: d -> scores (n,).
        scaled: d -> the same scores, divided (n,).
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 2.9))
    panels = ((left, raw, 60.0, "The wider, the wilder"), (right, scaled, 4.5, r"Divided by $\sqrt{d}$: one width"))
    for axis, scores, reach, title in panels:
        edges = torch.linspace(-reach, reach, 102 if axis is left else 62)
        for (d, values), dash, colour in zip(scores.items(), DASHES, (GREEN, BLUE, VERMILION), strict=False):
            density = torch.histogram(values.float(), edges, density=True).hist
            axis.plot((edges[1:] + edges[:-1]) / 2, density, linestyle=dash, color=colour, label=f"d = {d}")
        axis.set(title=title, xlim=(-reach, reach), xlabel="score", ylim=(0, None))
        axis.set_yticks([])
        axis.grid(False)
    left.set_ylabel("how often")
    left.legend(loc="upper left", handlelength=2.4)
    return fig


def passed_back(rows: Mapping[str, Tensor], jacobians: Mapping[str, Tensor]) -> Figure:
    """Rows of weights as bars, and below each its Jacobian as a map.

    Args:
        rows: title -> weights (n,).
        jacobians: title -> (n, n).
    """
    fig, axes = plt.subplots(2, len(rows), figsize=(WIDTH, 4.3), height_ratios=(1, 2.1), sharex="col")
    fig.suptitle("What does a row of weights let through?", x=0.01, ha="left")
    for column, (title, p) in enumerate(rows.items()):
        bars, field = axes[0, column], axes[1, column]
        n = len(p)
        bars.bar(range(n), p.tolist(), color=BLUE, width=0.7)
        bars.set(ylim=(0, 1.05), yticks=[0, 0.5, 1], title=title)
        picture = field.imshow(jacobians[title], cmap="qkv_signed", vmin=-0.25, vmax=0.25, aspect="auto")
        field.set_xticks(range(n), [str(j + 1) for j in range(n)])
        field.set_yticks(range(n), [str(i + 1) for i in range(n)])
        field.set_xlabel("score $j$")
        field.grid(False)
        field.tick_params(length=0)
        for i, line in enumerate(jacobians[title].tolist()):
            for j, slope in enumerate(line):
                ink = "#FFFFFF" if abs(slope) > 0.12 else INK
                field.text(j, i, short(slope), ha="center", va="center", fontsize=8.5, color=ink)
    axes[0, 0].set_ylabel("weight")
    axes[1, 0].set_ylabel("weight $i$ moves by")
    fig.colorbar(picture, ax=axes[1, :], shrink=0.9, aspect=14, pad=0.02, ticks=[-0.25, 0, 0.25])
    return fig


def short(slope: float) -> str:
    """A slope in the least ink: .25, -.06, 0."""
    text = f"{slope:.2f}".replace("0.", ".")
    return "0" if text in (".00", "-.00") else text


def saturation(widths: Sequence[int], entropy: Mapping[str, Tensor], slope: Mapping[str, Tensor]) -> Figure:
    """How undecided rows are, and how much they pass back, against the width.

    Args:
        widths: the d that were measured.
        entropy: "scaled" and "unscaled" -> share of log n (seed, width).
        slope: "scaled" and "unscaled" -> median norm of the Jacobian (seed, width).
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.0))
    looks = {"scaled": (SCALED, "o", "-"), "unscaled": (UNSCALED, "s", "--")}
    for axis, curves in ((left, entropy), (right, slope)):
        for name, runs in curves.items():
            colour, marker, dash = looks[name]
            mean, spread = runs.mean(0), runs.std(0)
            axis.errorbar(widths, mean, spread, color=colour, marker=marker, linestyle=dash, label=name)
        by_width(axis, widths)
    left.set(ylim=(0, 1), ylabel="entropy / log n", title="How many keys are heard?")
    right.set_yscale("log")
    right.set(ylabel="norm of the Jacobian", title="How much is passed back?")
    right.legend(loc="lower left")
    return fig


def softmax_dial(
    softmax: Callable[[Tensor, int], Tensor],
    jacobian: Callable[[Tensor], Tensor],
    entropy: Callable[[Tensor], Tensor],
    scores: Tensor,
    title: str,
) -> Interactive:
    """Scores whose width, divisor and temperature the reader sets; all that is shown comes from the reader's functions.

    Args:
        softmax: (scores, dim) -> weights.
        jacobian: weights -> the softmax's derivatives there.
        entropy: weights -> their entropy.
        scores: as vectors of width 1 would give them (key,); those of width d are √d times as large.
    """

    def state(d: int, power: float, temperature: float) -> dict[str, object]:
        weights = softmax(math.sqrt(d) * scores / (d**power * temperature), -1)
        return {
            "weights": (1000 * weights).round().int().tolist(),
            "slopes": (1000 * jacobian(weights)).round().int().tolist(),
            "heard": round(entropy(weights).exp().item(), 2),
        }

    first = softmax(math.sqrt(64) * scores, -1)
    still, axis = plt.subplots(figsize=(WIDTH, 2.4))
    axis.bar(range(1, len(scores) + 1), first.tolist(), color=BLUE, width=0.7)
    axis.set(ylim=(0, 1.02), xlabel="key", ylabel="weight", title="d = 64, divided by nothing: one key is heard")
    return interactive(
        title,
        controls=[
            Slider("d", "width d", WIDTHS, 64),
            Choice("divisor", "divide by", list(DIVISORS), "nothing"),
            Slider("temperature", "temperature", TEMPERATURES, 1),
        ],
        draw="temperature.js",
        still=still,
        alt=f"Weights of {len(scores)} keys as bars, and the Jacobian of the softmax as a table. At first the scores "
        f"have the width 64 and are divided by nothing: one key has a weight of {first.max():.2f}.",
        data={
            "scores": [round(score, 4) for score in scores.tolist()],
            "widths": WIDTHS,
            "divisors": list(DIVISORS),
            "temperatures": TEMPERATURES,
            "states": [[[state(d, p, t) for t in TEMPERATURES] for p in DIVISORS.values()] for d in WIDTHS],
        },
    )


def by_width(axis: Axes, widths: Sequence[int]) -> None:
    axis.set_xscale("log", base=2)
    axis.set_xticks(widths, [str(d) for d in widths])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("$d$, the width of queries and keys")


def weight_maps(maps: Mapping[str, Tensor]) -> Figure:
    """Weights of many queries over many keys, side by side, too many for numbers.

    Args:
        maps: title -> weights (query, key).
    """
    fig, axes = plt.subplots(1, len(maps), figsize=(WIDTH, 2.6))
    for axis, (title, weights) in zip(axes, maps.items(), strict=True):
        picture = axis.imshow(weights, cmap="qkv_weights", vmin=0, vmax=1, aspect="auto")
        axis.set(title=title, xlabel="key", xticks=[], yticks=[])
        axis.grid(False)
    axes[0].set_ylabel("query")
    fig.colorbar(picture, ax=axes, aspect=16, pad=0.02, ticks=[0, 0.5, 1], label="weight")
    return fig


def deaf_rows(norms: Mapping[str, Tensor], threshold: float) -> Figure:
    """What share of the examples passes back less than x.

    Args:
        norms: name -> norm of each example's gradient at its scores (example,).
        threshold: below it an example is counted as deaf.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 2.9))
    colours = (BLUE, GREEN, ORANGE, VERMILION)
    for (name, values), dash, colour in zip(norms.items(), DASHES, colours, strict=True):
        ordered = values.clamp_min(1e-9).sort().values
        share = torch.arange(1, len(ordered) + 1) / len(ordered)
        axis.plot(ordered, share, linestyle=dash, color=colour, label=name)
    axis.axvline(threshold, color=GREY, linewidth=1)
    axis.text(threshold * 0.8, 0.96, "deaf", ha="right", va="top", color=GREY)
    axis.set_xscale("log")
    axis.set(
        xlim=(1e-8, 2), ylim=(0, 1.02), xlabel="an example's gradient at its scores", ylabel="share of examples below"
    )
    axis.set_title("How many examples pass almost nothing back?")
    axis.legend(loc="upper left", bbox_to_anchor=(0.0, 0.95), handlelength=2.4)
    return fig


def learning(curves: Mapping[int, Mapping[str, Tensor]], every: int, chance: float) -> Figure:
    """Accuracy against training steps, one panel for each width: thick the mean over seeds, thin each seed.

    Args:
        curves: d -> "scaled" and "unscaled" -> accuracies (seed, point).
        every: how many steps one point stands for.
        chance: the accuracy of guessing.
    """
    fig, axes = plt.subplots(1, len(curves), figsize=(WIDTH, 3.1), sharey=True)
    fig.suptitle("Does the reader learn to find the coat?", x=0.01, ha="left")
    looks = {"scaled": (SCALED, "-"), "unscaled": (UNSCALED, "--")}
    for axis, (d, arms) in zip(axes, curves.items(), strict=True):
        for name, runs in arms.items():
            colour, dash = looks[name]
            steps = [every * (i + 1) for i in range(runs.shape[1])]
            axis.plot(steps, runs.T, color=colour, linewidth=0.6, alpha=0.4)
            axis.plot(steps, runs.mean(0), color=colour, linestyle=dash, label=name)
        axis.axhline(chance, color=GREY, linestyle=":", linewidth=1.2)
        axis.set(title=f"d = {d}", ylim=(0, 1.04), xlabel="training step")
    axes[0].set_ylabel("right coat")
    axes[-1].text(axes[-1].get_xlim()[1], chance + 0.02, "guessing", ha="right", color=GREY)
    axes[1].legend(loc="lower right", bbox_to_anchor=(1.03, 0.1))
    return fig
