"""What chapter 16 draws: forecasts of a walk, who reads an order, errors beside the naive, a strip of DNA, pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.recurrence import headline
from qkv.figures.style import BLUE, GREEN, GREY, INK, VERMILION, WIDTH

CONTEXT = 12  # values that a window of the moving figure reads
KNOWN, LEAKED = "what is known", "known and future"
BASES = "ACGT"
STRIP = "GCAGATAACTCACGTGACTTATCTGGAGGAATC"
MOTIFS = {"AGATAA (GATA)": "AGATAA", "GAGGAA (ETS)": "GAGGAA", "CACGTG (E-box)": "CACGTG"}


def forecasts(x: Tensor, begin: int, lines: Mapping[str, Mapping[int, Tensor]]) -> Figure:
    """A stretch of a series and, in a panel for each forecaster, what it said at some times of the values to come.

    Args:
        x: the stretch (time,).
        begin: the time of its first value.
        lines: forecaster -> time of the last value that it knew -> its forecasts (horizon,).
    """
    fig, axes = plt.subplots(1, len(lines), figsize=(WIDTH, 2.9), sharey=True)
    for ax, (name, said), colour in zip(axes, lines.items(), (BLUE, VERMILION), strict=True):
        ax.plot(range(begin, begin + len(x)), x, color=GREY, linewidth=1.4)
        for last, values in said.items():
            path = [x[last - begin].item(), *values.tolist()]
            ax.plot(range(last, last + len(path)), path, color=colour, linewidth=2.2)
            ax.plot([last], path[:1], marker="o", markersize=4, color=INK)
        ax.set_title(name, fontsize=10.5, weight="normal")
        ax.set(xlabel="time")
    axes[0].set_ylabel("price")
    headline(fig, "Who knows where a random walk will go?")
    return fig


def dots(ax: Axes, results: Mapping[str, Tensor], colour: str) -> None:
    """A row for each name, first on top: the mean of its seeds (seed,) and their spread."""
    rows = list(range(len(results), 0, -1))
    for row, found in zip(rows, results.values(), strict=True):
        ax.errorbar([found.mean()], [row], xerr=[found.std()], color=colour, marker="o", markersize=6)
        ax.plot(found.tolist(), [row] * len(found), linestyle="none", marker="|", color=colour, alpha=0.6)
    ax.set_yticks(rows, list(results))
    ax.set_ylim(0.4, len(results) + 0.6)
    ax.grid(axis="x")
    ax.grid(visible=False, axis="y")


def readers(results: Mapping[str, Tensor]) -> Figure:
    """Who tells the order of two motifs: share of right answers, a row for each reader.

    Args:
        results: reader -> shares (seed,).
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 0.9 + 0.36 * len(results)))
    ax.axvline(0.5, color=GREY, linewidth=1.2, linestyle=":")
    dots(ax, results, BLUE)
    ax.text(0.5, 0.5, " chance", color=INK, fontsize=9, va="bottom")
    ax.set(title="Who can tell which motif comes first?", xlabel="right answers", xlim=(0, 1.03))
    return fig


def errors(results: Mapping[str, Mapping[str, Tensor]], bar: Mapping[str, str]) -> Figure:
    """Scaled errors, a panel for each series, and a line where the forecast lies that has to be beaten.

    Args:
        results: series -> forecaster -> errors (seed,).
        bar: series -> the forecaster at which the line stands.
    """
    fig, axes = plt.subplots(1, len(results), figsize=(WIDTH, 2.1))
    for ax, (series, found) in zip(axes, results.items(), strict=True):
        ax.axvline(found[bar[series]].mean(), color=GREY, linewidth=1.2, linestyle=":")
        dots(ax, found, BLUE)
        ax.set_title(series, fontsize=10.5, weight="normal")
        ax.set(xlabel="scaled error")
        ax.set_xlim(0, 1.1 * max(errors.max().item() for errors in found.values()))
    headline(fig, "Who is better than the dotted line?")
    return fig


def gallery(pictures: Tensor, captions: Sequence[str]) -> Figure:
    """Coloured pictures in two rows with what is said of them.

    Args:
        pictures: (picture, 3, height, width), red, green and blue from 0 to 1; what is beyond is cut.
        captions: one for each; an even number of them.
    """
    fig, axes = plt.subplots(2, len(captions) // 2, figsize=(WIDTH, 4.4))
    for ax, picture, words in zip(axes.flat, pictures.clamp(0, 1), captions, strict=True):
        ax.imshow(picture.permute(1, 2, 0).numpy())
        ax.set_xlabel(words, fontsize=9)
        ax.set(xticks=[], yticks=[])
        ax.grid(visible=False)
    headline(fig, "What is said of a picture?")
    return fig


def found(scores: Mapping[str, Tensor]) -> Figure:
    """How well each picture fits each text, a panel for each model: the right text lies on the diagonal.

    Args:
        scores: model -> (picture, text).
    """
    fig, axes = plt.subplots(1, len(scores), figsize=(WIDTH, 3.4))
    for ax, (name, table) in zip(axes, scores.items(), strict=True):
        ax.imshow(table.numpy(), vmin=min(-0.5, table.min().item()), vmax=1)
        ax.set_title(name, fontsize=10.5, weight="normal")
        ax.set(xlabel="text", ylabel="picture")
        ax.set(xticks=[], yticks=[])
        ax.grid(visible=False)
    headline(fig, "Which text does a picture find?")
    return fig


def price_split(x: Tensor, cut: int = 112, horizon: int = 3) -> Interactive:
    """A price with a cut that can be dragged, its windows on either side, and the error of an honest or a leaking fit.

    Args:
        x: prices (time,).
        cut: where the test begins at first.
        horizon: how many values a window predicts at first.
    """
    prices = [round(value, 3) for value in x.tolist()]
    cuts = range(4 * CONTEXT, len(prices) - 2 * CONTEXT + 1, 4)
    return interactive(
        "Which windows may be learned from?",
        controls=[
            Slider("cut", "test begins at", cuts, cut),
            Slider("horizon", "values predicted", (1, 2, 3, 4, 6, 8), horizon),
            Choice("scaling", "normalised by", (KNOWN, LEAKED), KNOWN),
        ],
        draw="price_split.js",
        still=still_split(x, cut, horizon),
        alt="A price over time with a line at which the test begins. Below it every window is a thin bar for what it "
        "reads and a thick end for what it predicts. Windows that predict values before the line are to learn from, "
        "those that predict values after it are for the test, and the few that predict both are in neither.",
        data={"x": prices, "context": CONTEXT, "leaked": LEAKED},
    )


def still_split(x: Tensor, cut: int, horizon: int) -> Figure:
    """The first state of the split."""
    fig, (top, below) = plt.subplots(2, 1, figsize=(WIDTH, 3.6), sharex=True)
    top.plot(x, color=INK, linewidth=1.4)
    top.set_ylabel("price")
    length = CONTEXT + horizon
    for start in range(len(x) - length + 1):
        first, row = start + CONTEXT, -(start % length)
        colour = BLUE if first + horizon <= cut else VERMILION if first >= cut else GREY
        below.plot([start, first], [row, row], color=colour, linewidth=0.8, alpha=0.5)
        below.plot([first, first + horizon], [row, row], color=colour, linewidth=2.4, solid_capstyle="butt")
    for ax in (top, below):
        ax.axvline(cut, color=INK, linewidth=1, linestyle=":")
    below.set(yticks=[], xlabel="time", ylabel="windows")
    below.grid(visible=False)
    return fig


def worth(motif: str) -> Tensor:
    """What each base is worth at each place of a motif (m, 4): log odds of 85 % for the right one against a quarter."""
    chances = torch.full((len(motif), 4), 0.05)
    for place, base in enumerate(motif):
        chances[place, BASES.index(base)] = 0.85
    return (chances / 0.25).log2()


def dna_strip(at: int = 2) -> Interactive:
    """Both strands of a piece of DNA, and what a motif scores on each of them at the cursor.

    Args:
        at: where the cursor stands at first.
    """
    size = len(next(iter(MOTIFS.values())))
    return interactive(
        "On which strand is the motif?",
        controls=[
            Choice("motif", "motif", tuple(MOTIFS), next(iter(MOTIFS))),
            Slider("at", "first base", range(len(STRIP) - size + 1), at),
        ],
        draw="dna_strip.js",
        still=still_strip(next(iter(MOTIFS.values())), at),
        alt="Two strands of DNA, one above the other, each base opposite its complement. Bars above are a motif's "
        "scores on the upper strand, bars below those on the lower one. The motif is found once on each strand, at "
        "different places.",
        data={
            "strip": [BASES.index(base) for base in STRIP],
            "worth": {name: [[round(v, 4) for v in row] for row in worth(m).tolist()] for name, m in MOTIFS.items()},
        },
    )


def both_strands(motif: str) -> tuple[list[float], list[float]]:
    """Scores at every place of the strip, forward and backward."""
    table, size = worth(motif), len(motif)
    ids = [BASES.index(base) for base in STRIP]
    windows = [ids[start : start + size] for start in range(len(ids) - size + 1)]
    forward = [math.fsum(table[place, base].item() for place, base in enumerate(window)) for window in windows]
    backward = [math.fsum(table[size - 1 - p, 3 - base].item() for p, base in enumerate(window)) for window in windows]
    return forward, backward


def still_strip(motif: str, at: int) -> Figure:
    """The first state of the strip."""
    forward, backward = both_strands(motif)
    lowest, size = min(forward + backward), len(motif)
    middle = [start + (size - 1) / 2 for start in range(len(forward))]
    fig, ax = plt.subplots(figsize=(WIDTH, 3.0))
    ax.bar(middle, [score - lowest for score in forward], bottom=4, width=0.7, color=BLUE)
    ax.bar(middle, [lowest - score for score in backward], bottom=-4, width=0.7, color=GREEN)
    for place, base in enumerate(STRIP):
        inside = at <= place < at + size
        for y, letter in ((1.6, base), (-1.6, BASES[3 - BASES.index(base)])):
            ax.text(place, y, letter, ha="center", va="center", fontsize=9.5, weight="bold" if inside else "normal")
    ax.add_patch(plt.Rectangle((at - 0.5, -3.4), size, 6.8, fill=False, edgecolor=VERMILION, linewidth=1.6))
    ax.set(xlim=(-0.8, len(STRIP) - 0.2))
    ax.axis("off")
    return fig
