"""What chapter 10 draws: ways through a sequence, gradients by distance, who remembers, what it costs, a scoreboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from torch import Tensor

from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, WIDTH

# One look for each architecture in every figure: colour, marker, dash.
LOOKS: dict[str, tuple[str, str, Any]] = {
    "RNN": (VERMILION, "o", "--"),
    "RNN, step by step": (PURPLE, "v", ":"),
    "LSTM": (ORANGE, "s", "-."),
    "GRU": (PURPLE, "v", (0, (3, 1, 1, 1))),
    "LSTM, gate open": (PURPLE, "v", (0, (4, 1, 1, 1, 1, 1))),
    "CNN": (GREEN, "D", (0, (5, 2))),
    "CNN, dilated": (SKY, "P", (0, (1, 1))),
    "attention": (BLUE, "^", "-"),
    "Transformer": (BLUE, "^", "-"),
}


def ways(n: int = 9) -> Figure:
    """How a signal gets from the first of n positions to the last, in four architectures."""
    titles = ("RNN", "CNN", "CNN, dilated", "attention")
    fig, axes = plt.subplots(1, len(titles), figsize=(WIDTH, 2.4), sharey=True)
    for ax, title in zip(axes, titles, strict=True):
        path = way(title, n)
        levels = max(level for _, level in path)
        for level in range(levels + 1):
            ax.plot(range(n), [level] * n, linestyle="none", marker="o", markersize=4.5, color=GREY, alpha=0.45)
        for (x0, y0), (x1, y1) in pairwise(path):
            ax.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "-|>", "color": BLUE, "linewidth": 1.6})
        steps = len(path) - 1
        ax.set_title(title, fontsize=10.5, weight="normal")
        ax.set_xlabel(f"{steps} step{'s' if steps > 1 else ''}")
        ax.set(xticks=[], yticks=[], xlim=(-0.8, n - 0.2))
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.grid(False)
    headline(fig, f"How does the first of {n} positions reach the last?")
    return fig


def way(title: str, n: int) -> list[tuple[int, int]]:
    """The shortest path, as (position, layer)."""
    if title == "RNN":
        return [(t, 0) for t in range(n)]
    if title == "attention":
        return [(0, 0), (n - 1, 1)]
    path, dilation = [(0, 0)], 1
    while path[-1][0] < n - 1:
        at, level = path[-1]
        path.append((min(at + 2 * dilation, n - 1), level + 1))
        dilation *= 2 if title.endswith("dilated") else 1
    return path


def gradients(by_weights: Mapping[str, Tensor], by_layer: Mapping[str, Tensor]) -> Figure:
    """Gradient against distance: left for one RNN with stronger and weaker weights, right for several architectures.

    Args:
        by_weights: what the weights are -> norms (seed, time), the last entry at distance 0.
        by_layer: architecture -> norms (seed, time), likewise.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.4))
    looks = ((BLUE, "-"), (GREEN, "--"), (VERMILION, "-."))
    for (name, norms), (colour, dash) in zip(by_weights.items(), looks, strict=True):
        draw_decay(left, name, norms, colour, dash)
    for name, norms in by_layer.items():
        colour, _, dash = LOOKS[name]
        draw_decay(right, name, norms, colour, dash)
    left.set_title("An RNN's last state", fontsize=10.5, weight="normal")
    right.set_title("The last output of a fresh layer", fontsize=10.5, weight="normal")
    left.set_ylabel("gradient, relative to distance 0")
    for ax in (left, right):
        ax.set(yscale="log", xlabel="distance")
        ax.legend(loc="lower left", fontsize=9)
    headline(fig, "How much of the gradient reaches back?")
    return fig


def draw_decay(ax: Axes, name: str, norms: Tensor, colour: str, dash: Any) -> None:
    """Mean over the seeds of log(gradient), nearest position first."""
    back = norms.flip(-1)
    mean = (back / back[:, :1]).log().mean(0).exp()
    ax.plot(range(len(mean)), mean, color=colour, linestyle=dash, label=name)


def layers_needed(counts: Mapping[str, Sequence[int]], lengths: Sequence[int]) -> Figure:
    """Steps or layers that a signal needs, against the length.

    Args:
        counts: architecture -> steps for each length.
        lengths: numbers of positions.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    for name, steps in counts.items():
        colour, marker, dash = LOOKS[name]
        ax.plot(lengths, steps, color=colour, marker=marker, linestyle=dash)
        ax.text(lengths[-1] * 1.12, steps[-1], name, color=INK, va="center", fontsize=9.5)
    powers(ax, lengths, stretch=2.6)
    ax.set(
        yscale="log",
        title="How many steps from the first position to the last?",
        xlabel="positions",
        ylabel="steps",
    )
    return fig


def by_delay(results: Mapping[str, Tensor], delays: Sequence[int], chance: float, sees: int) -> Figure:
    """Accuracy against the delay.

    Args:
        results: architecture -> accuracies (seed, delay).
        delays: how far back the answer lies.
        chance: accuracy of guessing.
        sees: number of inputs in the CNN's view.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.4))
    for k, (name, accuracy) in enumerate(results.items()):
        colour, marker, dash = LOOKS[name]
        nudge = 2 ** (0.06 * (k - 1.5))  # equal curves stay visible beside each other
        at = [delay * nudge for delay in delays]
        ax.errorbar(at, accuracy.mean(0), yerr=accuracy.std(0), color=colour, marker=marker, linestyle=dash, label=name)
    ax.axhline(chance, color=GREY, linewidth=1, linestyle=":")
    ax.text(0.01, chance + 0.015, "guessing", color=GREY, fontsize=9, transform=ax.get_yaxis_transform())
    ax.axvline(sees - 0.5, color=GREEN, linewidth=1, linestyle=":")
    ax.text((sees - 0.5) / 1.04, 0.62, "the CNN's\nview ends", color=GREEN, fontsize=9, ha="right")
    powers(ax, delays, stretch=1.2)
    ax.set(title="Who still knows what was said?", xlabel="delay", ylabel="accuracy", ylim=(0, 1.08))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def by_task(results: Mapping[str, Mapping[str, Tensor]], chance: float) -> Figure:
    """Accuracy of every architecture in every task, one point for each seed.

    Args:
        results: task -> architecture -> accuracies (seed,).
        chance: accuracy of guessing.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    named = set()
    for x, found in enumerate(results.values()):
        for k, (name, accuracy) in enumerate(found.items()):
            colour, marker, _ = LOOKS[name]
            at = x + 0.17 * (k - (len(found) - 1) / 2)
            ax.bar(at, float(accuracy.mean()) - chance, 0.15, bottom=chance, color=colour, alpha=0.3)
            label = None if name in named else name
            spots = [at + 0.035 * (seed - 1) for seed in range(len(accuracy))]
            ax.plot(spots, accuracy, linestyle="none", marker=marker, markersize=4, color=colour, label=label)
            named.add(name)
    ax.axhline(chance, color=GREY, linewidth=1)
    ax.set_xticks(range(len(results)), results)
    ax.set(title="Who keeps a running account?", ylabel="accuracy", ylim=(chance - 0.03, 1.03))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def times(results: Mapping[int, Mapping[str, Sequence[float]]], lengths: Sequence[int]) -> Figure:
    """Time of a layer against the length, a panel for each width.

    Args:
        results: width -> architecture -> milliseconds for each length.
        lengths: numbers of positions.
    """
    fig, axes = plt.subplots(1, len(results), figsize=(WIDTH, 3.3), sharey=True)
    for ax, (d, curves) in zip(axes, results.items(), strict=True):
        for name, spent in curves.items():
            colour, marker, dash = LOOKS[name]
            ax.plot(lengths, spent, color=colour, marker=marker, linestyle=dash, label=name)
        ax.axvline(d, color=GREY, linewidth=1, linestyle=":")
        ax.text(d * 1.05, 0.97, f"n = d = {d}", color=GREY, fontsize=9, va="top", transform=ax.get_xaxis_transform())
        powers(ax, lengths, stretch=1.1)
        ax.set(yscale="log", xlabel="positions $n$")
    axes[0].set_ylabel("milliseconds, forward and backward")
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=len(names))
    headline(fig, "Where does attention become slower?")
    return fig


def kept(bytes_kept: Mapping[str, Sequence[int]], lengths: Sequence[int]) -> Figure:
    """Bytes that a layer keeps for the backward pass, against the length.

    Args:
        bytes_kept: architecture -> bytes for each length.
        lengths: numbers of positions.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    ends: dict[float, list[str]] = {}
    for name, sizes in bytes_kept.items():
        colour, marker, dash = LOOKS[name]
        ax.plot(lengths, [size / 1e6 for size in sizes], color=colour, marker=marker, linestyle=dash)
        near = [height for height in ends if 0.8 < sizes[-1] / height < 1.25]
        ends.setdefault(near[0] if near else sizes[-1], []).append(name)
    for height, names in ends.items():  # curves that end together share a label
        ax.text(lengths[-1] * 1.06, height / 1e6, ", ".join(names), color=INK, va="center", fontsize=9.5)
    powers(ax, lengths, stretch=1.7)
    ax.set(
        yscale="log",
        title="What does a layer keep for the backward pass?",
        xlabel="positions $n$",
        ylabel="megabytes",
    )
    return fig


def powers(ax: Axes, values: Sequence[int], stretch: float) -> None:
    """A logarithmic axis that is labelled at the values measured."""
    ax.set_xscale("log")
    ax.set_xlim(values[0] / 1.15, values[-1] * stretch)
    ax.xaxis.set_major_locator(FixedLocator(list(values)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))


def headline(fig: Figure, title: str) -> None:
    """A title over all panels, where a single one has it."""
    fig.suptitle(title, x=0.01, ha="left", fontsize=11.5)


class Scoreboard:
    """A table of measured numbers; the name of a row links to the claim whose cell measured it, its best is bold."""

    def __init__(
        self, columns: Sequence[str], rows: Mapping[str, tuple[str, Sequence[str]]], larger_is_better: int = 0
    ) -> None:
        """
        Args:
            columns: what is compared.
            rows: what was measured -> (id of the claim, a number for each column).
            larger_is_better: in so many rows, from the top, the largest number is the best; below, the smallest.
        """
        self.columns, self.rows, self.larger_is_better = list(columns), dict(rows), larger_is_better

    def _repr_html_(self) -> str:
        heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("", *self.columns))
        lines = []
        for row, (what, (claim, numbers)) in enumerate(self.rows.items()):
            best = (max if row < self.larger_is_better else min)(numbers, key=float)
            marked = [f"<strong>{escape(n)}</strong>" if float(n) == float(best) else escape(n) for n in numbers]
            cells = "".join(f"<td>{number}</td>" for number in marked)
            lines.append(f'<tr><th scope="row"><a href="#claim-{claim}">{escape(what)}</a></th>{cells}</tr>')
        return f'<table class="table"><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'

    def __repr__(self) -> str:
        lines = [("", *self.columns), *((what, *numbers) for what, (_, numbers) in self.rows.items())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(f"{text:{width}}" for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
