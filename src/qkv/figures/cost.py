"""What chapter 11 draws: cost against length, what is still found, a walk over tiles, who waits for memory, where the
bytes of a model go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.recurrence import headline, powers
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, WIDTH

# One look for each kind of attention in every figure: colour, marker, dash.
LOOKS: dict[str, tuple[str, str, Any]] = {
    "full": (BLUE, "o", "-"),
    "full, reused": (GREY, "d", "--"),
    "full, masked": (SKY, "X", (0, (3, 1, 1, 1))),
    "window": (VERMILION, "s", "--"),
    "dilated": (ORANGE, "D", "-."),
    "Linformer": (PURPLE, "v", ":"),
    "linear": (GREEN, "^", (0, (5, 2))),
    "tiled": (INK, "P", (0, (1, 1))),
}
# Other curves, by their order.
ORDER: tuple[tuple[str, str, Any], ...] = (
    (BLUE, "o", "-"),
    (VERMILION, "s", "--"),
    (GREEN, "^", "-."),
    (PURPLE, "v", ":"),
)
NO_YES = ("no", "yes")
NUMBERS = {"float32": 4, "float16": 2, "8 bits": 1, "4 bits": 0.5}


def costs(seconds: Mapping[str, Sequence[float]], megabytes: Mapping[str, Sequence[float]], n: Sequence[int]) -> Figure:
    """Time and memory against the length, beside each other on logarithmic axes, where a power is a straight line.

    Args:
        seconds: kind of attention -> seconds for each length.
        megabytes: kind of attention -> megabytes at the peak for each length.
        n: the lengths.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.9))
    for ax, curves, unit in ((left, seconds, "seconds"), (right, megabytes, "megabytes at the peak")):
        for name, values in curves.items():
            colour, marker, dash = LOOKS[name]
            ax.plot(n, values, color=colour, marker=marker, linestyle=dash, label=name)
        slopes(ax, n, min(v[0] for v in curves.values()), max(v[-1] for v in curves.values()))
        powers(ax, n, stretch=1.15)
        ax.set(yscale="log", xlabel="positions $n$", ylabel=unit)
        ax.tick_params(axis="x", rotation=40)
    handles, names = left.get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4)
    headline(fig, "What does twice the length cost?")
    return fig


def slopes(ax: Axes, n: Sequence[int], low: float, high: float) -> None:
    """Two thin lines to hold the curves against: in proportion to n, and to its square."""
    for start, power, words in ((low, 1, "∝ n"), (high * (n[0] / n[-1]) ** 2, 2, "∝ n²")):
        line = [start * (m / n[0]) ** power for m in n]
        ax.plot(n, line, color=GREY, linewidth=0.9, alpha=0.8, zorder=0)
        ax.text(n[1], line[1] * (0.45 if power == 1 else 1.5), words, color=GREY, fontsize=9, ha="right")


def found(results: Mapping[str, Tensor], pairs: Sequence[int], sees: int) -> Figure:
    """Share of right answers against the number of pairs in memory.

    Args:
        results: kind of attention -> accuracies (seed, number of pairs).
        pairs: how many pairs the memory holds.
        sees: how many keys a window sees.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.4))
    many = torch.linspace(pairs[0], pairs[-1], 100)
    ax.plot(many, (sees / many).clamp(max=1), color=GREY, linewidth=1, linestyle=":", label=f"{sees} of n seen")
    for k, (name, accuracy) in enumerate(results.items()):
        colour, marker, dash = LOOKS[name]
        at = [n * 2 ** (0.05 * (k - (len(results) - 1) / 2)) for n in pairs]  # equal curves stay visible
        ax.errorbar(at, accuracy.mean(0), yerr=accuracy.std(0), color=colour, marker=marker, linestyle=dash, label=name)
    powers(ax, pairs, stretch=1.2)
    ax.set(title="Who still finds what was stored?", xlabel="pairs in memory", ylabel="right answers", ylim=(0, 1.06))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def against_length(curves: Mapping[str, Sequence[float]], n: Sequence[int], title: str, unit: str) -> Figure:
    """Something measured at several lengths, on logarithmic axes.

    Args:
        curves: what was measured -> a number for each length.
        n: the lengths.
        title: the question.
        unit: of the numbers.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.3))
    for (name, values), (colour, marker, dash) in zip(curves.items(), ORDER[: len(curves)], strict=True):
        ax.plot(n, values, color=colour, marker=marker, linestyle=dash, label=name)
    powers(ax, n, stretch=1.1)
    ax.set(yscale="log", title=title, xlabel="positions $n$", ylabel=unit)
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def tile_walk(scores: Tensor, values: Tensor, block: int = 4, tiles: int = 2) -> Interactive:
    """A matrix of scores that is read tile by tile; the reader may leave the rescaling out and see what drifts.

    Args:
        scores: (query, key), entries between -4 and 4.
        values: a number for each key.
        block: keys of a tile, at first.
        tiles: how many tiles have been read, at first.
    """
    n = scores.shape[-1]
    return interactive(
        "What has to be remembered from tile to tile?",
        controls=[
            Slider("block", "keys of a tile", range(1, n + 1), block),
            Slider("tiles", "tiles read", range(1, n + 1), tiles),
            Choice("causal", "causal", NO_YES, "no"),
            Choice("rescale", "rescale", NO_YES, "yes"),
        ],
        draw="tile_walk.js",
        still=still_tiles(scores, block, tiles),
        alt=f"{n} by {n} scores, of which a tile of {block} columns is being read. Beside each row, bars for the "
        "largest score so far, the sum of powers and the output; with rescaling the last two end at the true values.",
        data={"scores": rounded(scores), "values": rounded(values)},
    )


def rounded(numbers: Tensor) -> Any:
    """As lists, short enough for a page."""
    return [rounded(row) for row in numbers] if numbers.dim() > 1 else [round(x, 2) for x in numbers.tolist()]


def still_tiles(scores: Tensor, block: int, tiles: int) -> Figure:
    """The first state of the walk: what has been read, and the largest score and the sum of each row so far."""
    seen = scores[:, : block * tiles]
    highest = seen.amax(-1)
    sums = (seen - highest[:, None]).exp().sum(-1)
    fig, axes = plt.subplots(1, 3, figsize=(WIDTH, 3.2), width_ratios=(2, 1, 1))
    picture = scores.clone()
    picture[:, block * tiles :] = float("nan")
    axes[0].imshow(picture.numpy(), cmap="qkv_weights", vmin=-4, vmax=4)
    axes[0].axvspan(block * (tiles - 1) - 0.5, block * tiles - 0.5, facecolor="none", edgecolor=BLUE, linewidth=2)
    axes[0].set(title="scores", xlabel="keys", ylabel="queries", xlim=(-0.5, scores.shape[-1] - 0.5))
    rows = range(len(scores))
    for ax, bars, title in ((axes[1], highest, "largest so far"), (axes[2], sums, "sum")):
        ax.barh(rows, bars.tolist(), color=GREEN, alpha=0.75)
        ax.set(title=title, yticks=[])
        ax.invert_yaxis()
    for ax in axes:
        ax.grid(False)
    return fig


def memory_budget() -> Interactive:
    """Weights and cache, or weights, gradients, optimiser and stored maps, of a model whose sizes the reader sets.

    Training counts 16 bytes a parameter, whatever the bits of a written number: a float32 weight, its gradient and
    Adam's two moments, or weight and gradient in 16 bits with a float32 copy of the weight.
    """
    return interactive(
        "Where does the memory go?",
        controls=[
            Slider("layers", "layers", (1, 2, 6, 12, 24, 32, 48, 80, 96), 32),
            Slider("width", "width", (64, 256, 512, 1024, 2048, 4096, 8192, 16384), 4096),
            Slider("heads", "heads", (1, 2, 4, 8, 16, 32, 64, 128), 32),
            Slider("groups", "groups", (1, 2, 4, 8, 16, 32, 64, 128), 32),
            Slider("length", "length", (128, 512, 1024, 2048, 4096, 8192, 32768, 131072), 4096),
            Slider("batch", "batch", (1, 2, 4, 8, 16, 32, 64, 128), 1),
            Choice("number", "a number is", tuple(NUMBERS), "float16"),
        ],
        draw="memory_budget.js",
        still=still_budget(),
        alt="Two stacked bars in gigabytes for 32 layers of width 4,096 with 32 heads and 4,096 positions in float16. "
        "To write: weights 13, cache 2. To train with every map stored: weights, gradients and Adam 103, maps 34. "
        "Marks at 8, 24 and 80.",
        data={"bytes": NUMBERS},
    )


def still_budget(layers: int = 32, d: int = 4096, heads: int = 32, n: int = 4096, size: int = 2) -> Figure:
    """The first state of the budget, with a group for each head."""
    parameters = 12 * layers * d * d
    bars = (
        ("weights", size * parameters, "cache", size * 2 * layers * n * d, GREEN),
        ("weights, gradients, Adam", 16 * parameters, "maps", size * layers * heads * n * n, VERMILION),
    )
    fig, ax = plt.subplots(figsize=(WIDTH, 2.2))
    for row, (fixed, state, name, part, colour) in enumerate(bars):
        ax.barh(row, state / 1e9, 0.5, color=BLUE, alpha=0.75)
        ax.barh(row, part / 1e9, 0.5, left=state / 1e9, color=colour, alpha=0.75)
        words = f"{fixed} {state / 1e9:.0f}, {name} {part / 1e9:.0f}"
        ax.text(1, row - 0.28, words, va="bottom", fontsize=9.5)
    for card in (8, 24, 80):
        ax.axvline(card, color=INK, linewidth=0.9, linestyle=":")
    ax.set(yticks=(0, 1), yticklabels=("to write", "to train"), xlabel="gigabytes", xlim=(0, 145), ylim=(1.5, -0.7))
    ax.grid(False)
    return fig


def roofline(points: Mapping[str, float], ridges: Mapping[str, float]) -> Figure:
    """Which share of its arithmetic a machine can use, if a program makes so many operations for each byte it moves.

    Args:
        points: program -> operations for each byte.
        ridges: machine -> operations in the time of one byte.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.6))
    low, high = min(points.values()) / 2, max(*points.values(), *ridges.values()) * 2
    for (machine, ridge), (colour, _, dash) in zip(ridges.items(), ORDER[: len(ridges)], strict=True):
        ax.plot([low, ridge, high], [low / ridge, 1, 1], color=colour, linestyle=dash, label=machine)
        ax.plot(list(points.values()), [min(1, at / ridge) for at in points.values()], "o", color=colour)
    lowest = low / max(ridges.values())
    for name, intensity in points.items():
        ax.axvline(intensity, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
        share = min(1, intensity / min(ridges.values()))
        height, side = (share / 1.3, "top") if share > 0.05 else (share * 1.5, "bottom")  # where there is room
        ax.text(intensity, height, name, rotation=90, va=side, ha="right", fontsize=9, color=INK)
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(lowest, 1.6))
    ax.set(
        title="Who waits for memory?", xlabel="operations for each byte moved", ylabel="usable share of the arithmetic"
    )
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig
