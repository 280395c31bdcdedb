"""What chapter 08 draws: the machine, how it learns and fails, what it looks at, what it weighs, how it searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

from qkv.figures.style import BLUE, FONTS, GREEN, GREY, INK, KEY, ORANGE, PURPLE, QUERY, VALUE, VERMILION, WIDTH

MARKERS = "osD^"
COLOURS = (BLUE, VERMILION, GREEN, ORANGE)
HATCHES = ("", "///", "...", "xxx")
HAN = FONTS / "QKVHan-Regular.otf"


def with_han(path: Path = HAN) -> list[str]:
    """The families of a label that may hold Chinese numerals."""
    font_manager.fontManager.addfont(path)
    return ["Source Sans 3", "QKV Han", "DejaVu Sans"]


# The machine ----------------------------------------------------------------------------------------------------------


READS = (
    (0.55, "source ids", GREY),
    (1.9, "embed: row · √d + position", PURPLE),
    (3.55, "norm, self-attention", BLUE),
    (4.95, "norm, feed-forward", GREEN),
    (6.5, "norm", GREY),
)
SAYS = (
    (0.55, "target ids, shifted right", GREY),
    (1.9, "embed: row · √d + position", PURPLE),
    (3.55, "norm, causal attention", BLUE),
    (4.95, "norm, cross-attention", VERMILION),
    (6.35, "norm, feed-forward", GREEN),
    (7.9, "norm", GREY),
    (9.0, "dot with each row of the table", PURPLE),
)


NARROW = 1.3  # half the width of a sublayer's box, which leaves room for its residual connection


def machine(title: str) -> Figure:
    """Encoder and decoder side by side, from ids below to logits above; a plus is where a residual connection ends."""
    fig, axis = plt.subplots(figsize=(WIDTH, 5.8))
    axis.set(xlim=(0, 10), ylim=(0.1, 10.4), title=title)
    axis.axis("off")
    reads, says = 2.1, 7.9
    column(axis, reads, READS)
    column(axis, says, SAYS)
    frame(axis, reads, 2.75, 5.75, "encoder layer, × n")
    frame(axis, says, 2.75, 7.15, "decoder layer, × n")
    arrow(axis, (says, 9.3), (says, 9.85))
    axis.text(says, 9.9, "logits (batch, target, vocab)", ha="center", va="bottom")
    axis.text(reads, 7.0, "memory (batch, source, d)", ha="center", va="bottom")
    turn = 5.0
    axis.plot([reads + 1.7, turn, turn], [6.5, 6.5, 4.95], color=INK, linewidth=1.3)
    arrow(axis, (turn, 4.95), (says - NARROW - 0.08, 4.95))
    axis.text(turn - 0.1, 5.7, "keys,\nvalues", color=KEY, ha="right", va="center", fontsize=9.5)
    axis.text(says + 0.14, 4.52, "queries", color=QUERY, ha="left", va="center", fontsize=9.5)
    return fig


def column(axis: Axes, x: float, parts: Sequence[tuple[float, str, str]]) -> None:
    for y, words, colour in parts:
        sublayer = words.startswith("norm, ")
        box(axis, x, y, words, colour, NARROW if sublayer else 1.62)
        if sublayer:
            residual(axis, x, y)
    for (below, *_), (above, *_) in pairwise(parts):
        arrow(axis, (x, below + 0.3), (x, above - 0.3))


def residual(axis: Axes, x: float, y: float) -> None:
    """The way around a sublayer: off the stream below its box, back onto it at the plus above."""
    side, below, above = x - 1.66, y - 0.62, y + 0.56
    axis.plot([x, side, side, x - 0.12], [below, below, above, above], color=INK, linewidth=1.3)
    axis.plot(x, above, marker="o", markersize=11, markerfacecolor="none", markeredgecolor=INK, zorder=3)
    axis.text(x, above, "+", ha="center", va="center_baseline", fontsize=10)


def box(axis: Axes, x: float, y: float, words: str, colour: str, half: float) -> None:
    corner, width = (x - half, y - 0.22), 2 * half
    axis.add_patch(FancyBboxPatch(corner, width, 0.44, boxstyle="round,pad=0.08", facecolor=colour, alpha=0.18))
    axis.add_patch(FancyBboxPatch(corner, width, 0.44, boxstyle="round,pad=0.08", fill=False, edgecolor=colour))
    axis.text(x, y, words, ha="center", va="center")


def frame(axis: Axes, x: float, bottom: float, top: float, words: str) -> None:
    shape = FancyBboxPatch(
        (x - 2.0, bottom), 4.0, top - bottom, boxstyle="round,pad=0.05", fill=False, edgecolor=GREY, linestyle="--"
    )
    axis.add_patch(shape)
    axis.text(x + 2.1, bottom - 0.1, words, color=GREY, fontsize=9.5, ha="right", va="top")


def arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axis.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.3, "shrinkA": 0})


# Learning and failing -------------------------------------------------------------------------------------------------


def learning(losses: Tensor, steps: Sequence[int], accuracy: Tensor, title: str) -> Figure:
    """Loss and exact match while training; a line for each seed.

    Args:
        losses: loss at each step (seed, step).
        steps: when the exact match was measured.
        accuracy: exact match (seed, time).
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 2.9))
    fig.suptitle(title, x=0.01, ha="left")
    for i, (loss, found) in enumerate(zip(losses, accuracy, strict=True)):
        left.plot(range(1, len(loss) + 1), loss, color=COLOURS[i], linewidth=1.0, alpha=0.85)
        right.plot(steps, found, color=COLOURS[i], marker=MARKERS[i], label=f"seed {i}")
    left.set(yscale="log", xlabel="training step", ylabel="loss per token")
    right.set(xlabel="training step", ylabel="exact match, held out", ylim=(-0.03, 1.05))
    right.legend(loc="upper left")
    return fig


def by_words(accuracy: Tensor, seen: Sequence[int], title: str) -> Figure:
    """Exact match against the number of words; under each bar, how many such texts were there to learn from.

    Args:
        accuracy: exact match (seed, number of words - 1).
        seen: how many training texts have 1, 2, … words.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.0))
    places = range(len(seen))
    axis.bar(places, accuracy.mean(0), color=BLUE, alpha=0.35, edgecolor=BLUE, width=0.62)
    for i, runs in enumerate(accuracy):
        shift = 0.13 * (i - (len(accuracy) - 1) / 2)
        axis.plot([p + shift for p in places], runs, MARKERS[i], color=INK, markersize=4.5, label=f"seed {i}")
    axis.set_xticks(places, [f"{p + 1}\n{n:,}" for p, n in enumerate(seen)])
    axis.set(xlabel="words of the number, and how many such numbers were in training", ylabel="exact match, unseen")
    axis.set(title=title, ylim=(-0.03, 1.24), yticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    axis.legend(loc="upper right", ncols=len(accuracy))
    return fig


# Looking --------------------------------------------------------------------------------------------------------------


def alignments(maps: Sequence[tuple[Tensor, Sequence[str], Sequence[str]]], title: str) -> Figure:
    """Cross-attention as tables side by side: a row for each token that is said, a column for each that is read.

    Args:
        maps: weights (target, source), what is said, what is read.
    """
    families = with_han()
    widths = [len(read) + 2.5 for _, _, read in maps]
    fig, axes = plt.subplots(1, len(maps), figsize=(WIDTH, 4.3), squeeze=False, gridspec_kw={"width_ratios": widths})
    fig.suptitle(title, x=0.01, ha="left")
    for axis, (weights, said, read) in zip(axes[0], maps, strict=True):
        axis.imshow(weights.numpy(), cmap="qkv_weights", vmin=0, vmax=1, aspect="auto")
        axis.set_xticks(range(len(read)), read, rotation=50, ha="right", rotation_mode="anchor", fontfamily=families)
        axis.set_yticks(range(len(said)), said, fontfamily=families)
        axis.tick_params(length=0)
        axis.grid(False)
        axis.set_xlabel("read")
    axes[0, 0].set_ylabel("said")
    return fig


# Counting -------------------------------------------------------------------------------------------------------------


def shares(counts: Mapping[str, Mapping[str, int]], title: str) -> Figure:
    """One bar for each model, its parts side by side in millions of parameters.

    Args:
        counts: model -> part -> parameters; every model has the same parts.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 1.35 + 0.55 * len(counts)))
    fig.suptitle(title, x=0.01, ha="left")
    parts = list(next(iter(counts.values())))
    for row, found in enumerate(counts.values()):
        start, whole = 0.0, sum(found.values())
        for i, part in enumerate(parts):
            width = found[part] / 1e6
            axis.barh(
                row,
                width,
                left=start,
                height=0.62,
                color=COLOURS[i],
                alpha=0.45,
                hatch=HATCHES[i],
                edgecolor="white",
                label=part if row == 0 else None,
            )
            if found[part] / whole > 0.05:
                axis.text(start + width / 2, row, f"{width:.1f}", ha="center", va="center")
            start += width
        axis.text(start + 2, row, f"{start:.1f}", va="center", weight="bold")
    axis.set_yticks(range(len(counts)), list(counts))
    axis.invert_yaxis()
    axis.set_xlabel("million parameters")
    axis.set_xlim(0, 1.1 * max(sum(found.values()) for found in counts.values()) / 1e6)
    axis.grid(True, axis="x")
    axis.grid(False, axis="y")
    axis.tick_params(axis="y", length=0)
    fig.legend(loc="outside lower center", ncols=len(parts))
    return fig


# Searching ------------------------------------------------------------------------------------------------------------


def paths(tree: Mapping[str, Mapping[str, float]], greedy: str, beam: str, title: str) -> Figure:
    """A small tree of beginnings, with the probability of each step and of each beginning; two paths are marked.

    Args:
        tree: beginning -> next token -> probability; the empty string is the root. Two steps deep.
        greedy: the beginning that greedy decoding takes.
        beam: the one that a wider beam finds.
    """
    families = with_han()
    fig, axis = plt.subplots(figsize=(WIDTH, 3.5))
    axis.set(title=title, xlim=(-0.25, 2.75))
    axis.axis("off")
    leaves = [first + second for first in tree[""] for second in tree.get(first, {})]
    height = {leaf: -float(i) for i, leaf in enumerate(leaves)}
    for first in tree[""]:
        own = [height[first + second] for second in tree[first]]
        height[first] = sum(own) / len(own)
    height[""] = sum(height[first] for first in tree[""]) / len(tree[""])
    chance = {"": 1.0}
    for beginning in ("", *tree[""]):
        for token, p in tree[beginning].items():
            longer = beginning + token
            chance[longer] = chance[beginning] * p
            on_greedy, on_beam = greedy.startswith(longer), beam.startswith(longer)
            colour = VERMILION if on_greedy else VALUE if on_beam else GREY
            style = "--" if on_greedy else "-"
            ends = [len(beginning) + 0.04, len(longer) - 0.16], [height[beginning], height[longer]]
            axis.plot(*ends, color=colour, linestyle=style, linewidth=2.4 if on_greedy or on_beam else 1.0)
            middle = len(beginning) + 0.5, (height[beginning] + height[longer]) / 2
            axis.text(middle[0], middle[1] + 0.2, f"{p:g}", ha="center", va="bottom", color=colour)
            axis.text(len(longer) - 0.1, height[longer], longer, va="center", fontsize=15, fontfamily=families)
            if len(longer) == 2:
                axis.text(2.22, height[longer], f"{chance[longer]:.3g}", va="center", color=GREY)
            if longer in (greedy, beam):
                name = "greedy" if longer == greedy else "beam"
                axis.text(2.52, height[longer], name, va="center", color=colour, weight="bold")
    axis.text(-0.1, height[""], "bos", ha="right", va="center")
    return fig
