"""What chapter 07 draws: activations, what a width can tell apart, how tokens collapse, who pays for a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, WIDTH

MARKERS = "osD^vP"
LINES = ("-", "--", "-.", ":", "-", "--")
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
HATCHES = ("", "///", "...", "xxx")
ROUNDING = 1e-16


def activations(x: Tensor, curves: Mapping[str, Tensor], title: str) -> Figure:
    """Functions of one number, and beside them a closer look around 0.

    Args:
        x: where they were computed (n,).
        curves: name -> what came out (n,).
    """
    fig, (wide, close) = plt.subplots(1, 2, figsize=(WIDTH, 3.0))
    fig.suptitle(title, x=0.01, ha="left")
    near = x.abs() <= 2.5
    for i, (name, y) in enumerate(curves.items()):
        wide.plot(x, y, color=COLOURS[i], linestyle=LINES[i], label=name)
        close.plot(x[near], y[near], color=COLOURS[i], linestyle=LINES[i])
    for axis in (wide, close):
        axis.axhline(0, color=GREY, linewidth=0.8)
        axis.set_xlabel("what comes in")
    wide.set_ylabel("what goes out")
    wide.legend(loc="upper left")
    close.set_ylim(-0.35, 0.6)
    close.set_title("around 0", weight="normal")
    return fig


def by_width(widths: Sequence[int], accuracies: Mapping[str, Tensor], title: str) -> Figure:
    """Accuracy against the width of the hidden layer: the mean over seeds, and a band of one deviation.

    Args:
        widths: how wide the hidden layer was.
        accuracies: name -> accuracy (seed, width).
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.0))
    for i, (name, runs) in enumerate(accuracies.items()):
        mean, deviation = runs.mean(0), runs.std(0)
        axis.fill_between(widths, mean - deviation, mean + deviation, color=COLOURS[i], alpha=0.15, linewidth=0)
        axis.plot(widths, mean, color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], label=name)
    axis.axhline(0.5, color=GREY, linestyle=":", label="guessing")
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(widths), [str(width) for width in widths])
    axis.set(xlabel="width of the hidden layer", ylabel="right answers", title=title, ylim=(0.42, 1.02))
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def collapse(arms: Mapping[str, Tensor], title: str) -> Figure:
    """How different the tokens still are after each layer, on a logarithmic axis, a thin line for each seed.

    Args:
        arms: name -> relative distance from all tokens being equal (seed, layer), layer 0 being the input.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.3))
    for i, (name, runs) in enumerate(arms.items()):
        shown = runs.clamp(min=ROUNDING)
        steps = range(runs.shape[1])
        axis.plot(steps, shown.T, color=COLOURS[i], linewidth=0.6, alpha=0.4)
        mean = shown.log().mean(0).exp()
        axis.plot(steps, mean, color=COLOURS[i], linestyle=LINES[i], marker=MARKERS[i], label=name)
    axis.axhspan(ROUNDING / 10, 1e-14, color=GREY, alpha=0.12, linewidth=0)
    axis.text(runs.shape[1] - 1, 1.2e-14, "rounding", color=INK, ha="right", va="bottom")
    axis.set(xlabel="layers", ylabel="how different the tokens are", yscale="log", title=title)
    axis.set_ylim(ROUNDING / 10, 5)
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def who_pays(lengths: Sequence[int], shares: Mapping[str, Sequence[float]], title: str) -> Figure:
    """The share of each part in the work of a layer as the sequence grows; the parts are stacked.

    Args:
        lengths: how long the sequence was.
        shares: part -> its share at each length, between 0 and 1.
    """
    fig, axis = plt.subplots(figsize=(WIDTH, 3.0))
    below = [0.0] * len(lengths)
    for i, (name, part) in enumerate(shares.items()):
        above = [b + share for b, share in zip(below, part, strict=True)]
        axis.fill_between(
            lengths, below, above, facecolor=COLOURS[i], alpha=0.55, hatch=HATCHES[i], edgecolor="white", label=name
        )
        axis.plot(lengths, above, color=COLOURS[i], linewidth=1.2)
        below = above
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(lengths), [str(length) for length in lengths])
    axis.set(xlabel="tokens in the sequence", ylabel="share of the work", title=title)
    axis.set_xlim(lengths[0], lengths[-1])
    axis.set_ylim(0, 1)
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)
    return fig
