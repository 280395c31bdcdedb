"""What chapter 15 draws: patterns of heads, an automaton, what fades with length or depth, and a bench for RASP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.phone import keep_in_a_row
from qkv.figures.recurrence import headline, powers
from qkv.figures.style import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILION, WIDTH

ORDER: tuple[tuple[str, str, Any], ...] = (
    (BLUE, "o", "-"),
    (VERMILION, "s", "--"),
    (GREEN, "^", "-."),
    (PURPLE, "v", ":"),
    (ORANGE, "D", (0, (3, 1, 1, 1))),
)
# The bench: what a row of numbers can be made of, how keys are chosen, and programs that are known to do something.
TEXTS = ("h e l l o !", "^ a b a c a", "( ( ) ( ) )", "( ) ) ( ( )")
ROWS = ("tokens", "positions", "positions from the end")
PREDICATES = ("key = query", "key ≤ query", "key = query, or first", "every key")
VALUES = ("tokens", "positions", "1 at the first, else 0", "+1 for (, −1 for )")
OWN = "your own"
PROGRAMS: dict[str, tuple[str, str, str, str, str]] = {  # name -> text, queries, keys, predicate, values
    "reverse": (TEXTS[0], ROWS[2], ROWS[1], PREDICATES[0], VALUES[0]),
    "count": (TEXTS[1], ROWS[0], ROWS[0], PREDICATES[2], VALUES[2]),
    "brackets": (TEXTS[2], ROWS[1], ROWS[1], PREDICATES[1], VALUES[3]),
}
LENGTHS = tuple(2**k for k in range(2, 21))
GAPS = tuple(0.5 * k for k in range(41))


def patterns(panels: Mapping[str, Tensor], title: str, columns: int = 4, ticks: Sequence[str] = ()) -> Figure:
    """Attention weights as pictures, queries down and keys across.

    Args:
        panels: what stands above each -> weights (query, key).
        title: a question.
        columns: how many pictures there are in a row.
        ticks: words for queries and keys, if they are few.
    """
    rows = math.ceil(len(panels) / columns)
    fig, axes = plt.subplots(rows, columns, figsize=(WIDTH, 0.45 + rows * WIDTH / columns), squeeze=False)
    for ax, (name, weights) in zip(axes.flat, panels.items(), strict=True):
        ax.imshow(weights.detach().numpy(), cmap="qkv_weights", vmin=0, vmax=1)
        ax.set_title(name, fontsize=10, weight="normal", loc="center")
        ax.grid(False)
        ax.set(xticks=[], yticks=[])
        if ticks:
            ax.set_xticks(range(len(ticks)), ticks, fontsize=8)
            ax.set_yticks(range(len(ticks)), ticks, fontsize=8)
    headline(fig, title)
    return fig


def automaton(cells: Tensor, title: str) -> Figure:
    """Rows of cells that are 0 or 1, the first at the top.

    Args:
        cells: (row, cell).
        title: a question.
    """
    rows, width = cells.shape
    fig, ax = plt.subplots(figsize=(WIDTH, 0.4 + 0.6 * WIDTH * rows / width))
    ax.imshow(cells.numpy(), cmap="qkv_weights", vmin=0, vmax=1.3)
    ax.set(title=title, xticks=[], yticks=[], ylabel="time, downwards", xlabel="cells of the tape")
    ax.grid(False)
    keep_in_a_row(fig)
    return fig


def curves(
    found: Mapping[str, tuple[Sequence[float], Tensor]],
    title: str,
    across: str,
    up: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
    line: tuple[float, str] | None = None,
) -> Figure:
    """Numbers over seeds against something: a mean with its spread for each.

    Args:
        found: name -> places across, and numbers (seed, place).
        title: a question.
        across: what the places are.
        up: what the numbers are.
        log_x: whole numbers on a logarithmic axis, labelled where they were measured.
        log_y: a logarithmic axis, on which the spread is that of the logarithms.
        line: a level to compare with, and what it is.
    """
    fig, ax = plt.subplots(figsize=(WIDTH, 3.2))
    if line is not None:
        ax.axhline(line[0], color=GREY, linewidth=1.0, linestyle=":", label=line[1])
    for (name, (places, numbers)), look in zip(found.items(), ORDER[: len(found)], strict=True):
        one_curve(ax, name, places, numbers, look, log_y)
    if log_x:
        powers(ax, sorted({int(place) for places, _ in found.values() for place in places}), stretch=1.15)
    if log_y:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, max(1.06, 1.06 * max(numbers.max().item() for _, numbers in found.values())))
    ax.set(title=title, xlabel=across, ylabel=up)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def one_curve(ax: Axes, name: str, places: Sequence[float], numbers: Tensor, look: Any, log: bool) -> None:
    """A mean and a spread; of logarithms, both are taken of those."""
    colour, marker, dash = look
    how: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dash, "label": name, "clip_on": False}
    spread = numbers.std(0) if len(numbers) > 1 else torch.zeros(len(places))
    if not log:
        ax.errorbar(places, numbers.mean(0), yerr=spread, **how)
        return
    logs = numbers.log()
    middle, off = logs.mean(0), logs.std(0) if len(numbers) > 1 else torch.zeros(len(places))
    low, high = (middle - off).exp(), (middle + off).exp()
    centre = middle.exp()
    ax.errorbar(places, centre, yerr=torch.stack([centre - low, high - centre]), **how)


def rasp_bench(program: str = "reverse") -> Interactive:
    """Select keys by a question, average their values: the pattern, and the row that comes out.

    Args:
        program: what is chosen at first.
    """
    text, queries, keys, predicate, values = PROGRAMS[program]
    return interactive(
        "What do select and aggregate make of a text?",
        controls=[
            Choice("program", "program", (*PROGRAMS, OWN), program),
            Choice("text", "text", TEXTS, text),
            Choice("queries", "queries", ROWS, queries),
            Choice("keys", "keys", ROWS, keys),
            Choice("predicate", "select if", PREDICATES, predicate),
            Choice("values", "average of", VALUES, values),
        ],
        draw="rasp.js",
        still=still_bench(),
        alt="A table of six queries and six keys for the text hello!. Each query has selected one key, the one as far "
        "from the end as it is from the beginning, so that the row of averages below spells the text backwards.",
        data={"programs": {name: list(parts) for name, parts in PROGRAMS.items()}, "own": OWN},
    )


def still_bench() -> Figure:
    """The first state of the bench: a text is reversed."""
    letters = TEXTS[0].split()
    pattern = torch.eye(len(letters)).flip(0)
    fig, ax = plt.subplots(figsize=(WIDTH, 3.0))
    ax.imshow(pattern.numpy(), cmap="qkv_weights", vmin=0, vmax=1.2)
    ax.set_xticks(range(len(letters)), letters)
    ax.set_yticks(range(len(letters)), letters[::-1])
    ax.set(xlabel="keys", ylabel="what each query gets")
    ax.grid(False)
    return fig


def needle(n: int = 1024, gap: float = 6.0) -> Interactive:
    """The weight of one key that scores higher than n - 1 others, and the gap that it would need.

    Args:
        n: keys, at first.
        gap: by how much the needle scores higher, at first.
    """
    return interactive(
        "Is the needle still heard?",
        controls=[Slider("n", "keys", LENGTHS, n), Slider("gap", "gap of scores", GAPS, gap)],
        draw="needle.js",
        still=still_needle(n, gap),
        alt="The weight of the needle against the number of keys: near 1 for few, it falls to almost 0 for many, and "
        "is a half where the number of keys is the exponential of the gap.",
        data={"lengths": LENGTHS, "wanted": [0.5, 0.9, 0.99]},
    )


def still_needle(n: int, gap: float) -> Figure:
    """The first state of the needle."""
    keys = torch.tensor(LENGTHS, dtype=torch.float64)
    share = math.exp(gap) / (math.exp(gap) + keys - 1)
    fig, ax = plt.subplots(figsize=(WIDTH, 3.0))
    ax.plot(keys, share, color=BLUE)
    ax.plot([n], [math.exp(gap) / (math.exp(gap) + n - 1)], marker="o", color=INK, linestyle="none")
    ax.set(xscale="log", xlabel="keys $n$", ylabel="weight of the needle", ylim=(0, 1.05))
    return fig
