"""What chapter 04 draws: codes and their clocks, scores along diagonals, rounding far out, and who extrapolates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from torch import Tensor

from qkv.figures.interactive import Interactive, Slider, interactive
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION, WIDTH

# One look for each scheme in every figure: colour, marker, dash.
LOOKS = {
    "none": (GREY, "x", ":"),
    "sinusoidal": (BLUE, "o", "-"),
    "learned": (ORANGE, "s", "-"),
    "relative": (GREEN, "D", "-"),
    "RoPE": (VERMILION, "^", "--"),
    "T5": (PURPLE, "v", "-."),
    "ALiBi": (INK, "P", (0, (4, 1, 1, 1, 1, 1))),
}


def codes(table: Tensor) -> Figure:
    """A table of codes (position, column), read like a score: one line for each pair.

    Args:
        table: codes (length, d_model).
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.0))
    picture = ax.imshow(table.T, cmap="qkv_signed", vmin=-1, vmax=1, aspect="auto")
    ax.set(title="What does a code look like?", xlabel="position $t$", ylabel="column")
    ax.grid(False)
    fig.colorbar(picture, ax=ax, ticks=[-1, 0, 1], pad=0.02)
    return fig


def diagonals(tables: Mapping[str, Tensor]) -> Figure:
    """Tables of scores side by side, to see whether they are constant along diagonals.

    Args:
        tables: title -> scores (query, key).
    """
    fig, axes = plt.subplots(1, len(tables), figsize=(WIDTH, 3.2), sharey=True)
    for ax, (title, scores) in zip(axes, tables.items(), strict=True):
        ax.imshow(scores)
        ax.set_title(title, fontsize=10.5, weight="normal")
        ax.set_xlabel("key position")
        ax.grid(False)
    axes[0].set_ylabel("query position")
    headline(fig, "Does the score depend on the distance alone?")
    return fig


def nearest_so_far(distances: Mapping[int, Tensor], skip: int = 10) -> Figure:
    """How near the codes of later positions have come to the first one, for several widths.

    Args:
        distances: d_model -> distance of PE(t) from PE(0), in units of the step from 0 to 1, t = 1, 2, … (n,).
        skip: positions that count as neighbours, and are left out.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    dashes = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
    colours = (VERMILION, ORANGE, GREEN, BLUE, PURPLE, GREY)
    for (d, distance), dash, colour in zip(distances.items(), dashes, colours, strict=False):
        lowest = distance[skip:].cummin(dim=0).values
        ax.plot(range(skip + 1, skip + 1 + len(lowest)), lowest, linestyle=dash, color=colour)
        name = f"d = {d}"
        ax.text(
            1.12 * (skip + len(lowest)), float(lowest[-1]), name, color=colour, va="center", fontsize=9.5, weight="bold"
        )
    ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(skip, 2.4 * (skip + len(lowest))),
        title="How near does a far code come to the first one?",
        xlabel="positions looked at",
        ylabel="nearest so far (1: as a neighbour)",
    )
    return fig


def number_by_number(length: int, d: int) -> Tensor:
    """The sinusoidal code (length, d) as its formula is written, one sine or cosine at a time."""

    def term(t: int, column: int) -> float:
        angle = t * 10_000 ** (-2 * (column // 2) / d)
        return math.cos(angle) if column % 2 else math.sin(angle)

    return torch.tensor([[term(t, column) for column in range(d)] for t in range(length)])


def rotated_in_bfloat16(x: Tensor, positions: Tensor) -> Tensor:
    """Turn the pairs of x (seq, d) as `rotate` does, with angles that were computed in half precision."""
    d = x.shape[-1]
    column = torch.arange(0, d, 2, dtype=torch.bfloat16)
    angles = positions[:, None].bfloat16() * 10000 ** (-column / d)
    a, b, cos, sin = x[..., 0::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def rounding(errors: Mapping[str, tuple[Sequence[int], Tensor]], size: float) -> Figure:
    """By how much a score changes when query and key move together, against how far they move.

    Args:
        errors: how it is computed -> (shifts, changes (seed, shift)).
        size: the typical size of a score, as a line to compare with.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    looks = ((GREEN, "D", "-"), (BLUE, "o", "-"), (ORANGE, "s", "--"), (VERMILION, "^", "-."))
    for (name, (shifts, changes)), (colour, marker, dash) in zip(errors.items(), looks, strict=True):
        ax.plot(shifts, changes.mean(0), color=colour, marker=marker, linestyle=dash, label=name)
    ax.axhline(size, color=GREY, linewidth=1, linestyle=":")
    ax.text(1.0, size * 2, "size of a score", color=GREY, fontsize=9)
    ax.set(
        xscale="log",
        yscale="log",
        title="Is the score still relative, far out?",
        xlabel="both positions moved by",
        ylabel="change of the score",
        ylim=(1e-16, 1e3),
    )
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def one_clock_or_many(weights: Mapping[str, Tensor], wanted: int) -> Figure:
    """Weights over the distances to the keys, for heads with one frequency and with many.

    Args:
        weights: title -> weights by distance (n,).
        wanted: the distance that the head looks for.
    """
    fig, axes = plt.subplots(1, len(weights), figsize=(WIDTH, 2.7), sharey=True)
    for ax, (title, row), colour in zip(axes, weights.items(), (VERMILION, ORANGE, BLUE), strict=True):
        ax.bar(range(len(row)), row, width=1.6, color=colour)
        ax.plot([wanted], [1.0], marker="v", color=INK, markersize=6, clip_on=False)
        ax.set_title(title, fontsize=10.5, weight="normal")
        ax.set(xlabel="distance", ylim=(0, 1))
    axes[0].set_ylabel("weight")
    headline(fig, f"Can the head find distance {wanted}?")
    return fig


def added_to_scores(tables: Mapping[str, Tensor]) -> Figure:
    """What several schemes say about every pair of a query and a key.

    Args:
        tables: "scheme: what" -> numbers (query, key); -inf is left empty. One scheme has one scale.
    """
    fig, axes = plt.subplots(1, len(tables), figsize=(WIDTH, 3.05), sharey=True)
    lowest: dict[str, float] = {}
    for title, table in tables.items():
        scheme = title.split(":")[0]
        lowest[scheme] = min(float(table[~table.isinf()].min()), lowest.get(scheme, math.inf))
    for ax, (title, table) in zip(axes, tables.items(), strict=True):
        shown = torch.where(table.isinf(), torch.nan, table.float())
        picture = ax.imshow(shown, cmap="viridis", vmin=lowest[title.split(":")[0]])
        ax.set_title(title, fontsize=10, weight="normal")
        ax.set_xlabel("key")
        ax.grid(False)
        fig.colorbar(picture, ax=ax, location="bottom", shrink=0.85, pad=0.02)
    axes[0].set_ylabel("query")
    headline(fig, "How does each scheme see the distance?")
    return fig


def by_length(
    results: Mapping[str, Tensor],
    lengths: Sequence[int],
    title: str,
    floor: float,
    ceiling: Sequence[float] = (),
    low: float = 0.0,
) -> Figure:
    """Accuracy against the length at which a model is tested; it was trained at the first one.

    Args:
        results: scheme -> accuracies (seed, length); NaN where it has no answer.
        lengths: tested lengths.
        title: a question, or its answer.
        floor: accuracy of guessing.
        ceiling: the best possible accuracy at each length, where it is below 1.
        low: where the axis begins.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.6))
    ends: list[tuple[float, float, str]] = []
    for scheme, accuracy in results.items():
        colour, marker, dash = LOOKS[scheme]
        mean, spread = accuracy.mean(0), accuracy.std(0)
        ax.errorbar(lengths, mean, yerr=spread, color=colour, marker=marker, linestyle=dash)
        last = int((~mean.isnan()).nonzero().max())
        ends.append((float(mean[last]), lengths[last], scheme))
    high = max(ceiling) if ceiling else 1.0
    ax.set_ylim(low, high + 0.14 * (high - low))
    if floor > low:
        ax.axhline(floor, color=GREY, linewidth=1, linestyle=":")
        ax.text(lengths[0], floor, "guessing", color=GREY, fontsize=9, va="bottom")
    if ceiling:
        ax.plot(lengths, ceiling, color=INK, linewidth=1.2, linestyle=(0, (1, 2)))
        ax.text(lengths[-1] * 1.09, ceiling[-1], "best possible", color=INK, fontsize=9.5, va="center")
    ax.set(title=title, xlabel="tested length", ylabel="accuracy", xscale="log")
    ax.set_xlim(lengths[0] * 0.94, lengths[-1] * 1.5)
    ax.xaxis.set_major_locator(FixedLocator(list(lengths)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda n, _: f"{n:.0f}\n" + ("trained" if n == lengths[0] else f"{n / lengths[0]:.0f}×"))
    )
    label_ends(ax, ends, lengths[-1])
    return fig


def label_ends(ax: Axes, ends: Sequence[tuple[float, float, str]], longest: float) -> None:
    """Write each curve's name beside its last point, no two names over each other."""
    low, high = ax.get_ylim()
    gap = (high - low) * 0.055
    placed = -math.inf
    for value, x, scheme in sorted(ends):
        colour, marker, _ = LOOKS[scheme]
        look: dict[str, Any] = {"color": INK, "va": "center", "fontsize": 9.5}
        if x < longest:  # it stops early: say so above the point, out of the others' way
            ax.text(x, value + 1.5 * gap, f"{scheme}, ends here", **look)
            continue
        placed = max(value, placed + gap)
        ax.plot([x * 1.06], [placed], color=colour, marker=marker)  # tells two names apart whose curves end together
        ax.text(x * 1.09, placed, scheme, **look)


def headline(fig: Figure, title: str) -> None:
    """A title over all panels, where a single one has it."""
    fig.suptitle(title, x=0.01, ha="left", fontsize=11.5)


def wavelengths(d: int = 16, base: float = 10000, trained: int = 64, at: float = 0.625) -> Interactive:
    """A row of waves that the reader can stretch: which pairs come round within the training length, which do not?"""
    return interactive(
        "Which clocks come round in training?",
        controls=[
            Slider("d", "width d", (2, 4, 8, 16, 32, 64), d),
            Slider("base", "base", (10, 100, 1000, 10000, 100000, 1000000), base),
            Slider("trained", "trained length", (16, 32, 64, 128, 256, 512), trained),
            Slider("at", "position t", [i / 16 for i in range(65)], at),
        ],
        draw="wavelengths.js",
        still=still_waves(d, base, trained, round(at * trained)),
        alt=f"Sine waves of {d // 2} pairs of columns, from a wavelength of 6.3 positions to tens of thousands. "
        f"Only the fast ones complete a turn within {trained} positions. Below, the match of position "
        f"{round(at * trained)} with every other: highest at itself, lower and wavy elsewhere.",
    )


def still_waves(d: int, base: float, trained: int, t: int) -> Figure:
    span = torch.arange(4 * trained + 1)
    frequencies = base ** (-torch.arange(0, d, 2) / d)
    fig, (waves, match) = plt.subplots(2, 1, figsize=(WIDTH, 4.2), sharex=True, height_ratios=(1.7, 1))
    for i, omega in enumerate(frequencies.tolist()):
        full = 2 * math.pi / omega <= trained
        colour, dash = (BLUE, "-") if full else (VERMILION, "--")
        waves.plot(span, 0.4 * torch.sin(omega * span) - i, color=colour, linestyle=dash, linewidth=1.3)
        waves.text(4 * trained * 1.01, -i, f"{2 * math.pi / omega:,.1f}", va="center", fontsize=9)
    waves.set(yticks=[], ylabel="pair")
    match.plot(span, torch.cos(frequencies * (span[:, None] - t)).mean(-1), color=GREEN, linewidth=1.3)
    match.set(xlabel="position", ylabel=f"match with {t}")
    for ax in (waves, match):
        ax.axvspan(0, trained, color=SKY, alpha=0.15, linewidth=0)
        ax.axvline(t, color=INK, linewidth=0.8)
        ax.grid(False)
    return fig
