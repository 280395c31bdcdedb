"""A query that the reader turns and stretches: what it finds was computed beforehand, by the reader's own lookup."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template

import torch
from torch import Tensor

from qkv.figures.lookup import together

TURN, STRETCH, LONGEST = 5, 0.5, 3.0  # degrees; steps of length; the longest query
CENTRE, UNIT = (165, 165), 50  # of the plane, in the picture's pixels
LEFT, BAR = 432, 190  # where bars begin; the length of a bar that is full
TOP, ROW = 36, 25


class Dial:
    """An HTML figure that a notebook and the book show alike; without scripts it shows its first state."""

    def __init__(self, html: str, alt: str) -> None:
        self.html = html
        self.alt = alt

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"


def query_dial(
    lookup: Callable[[Tensor, Tensor, Tensor], Tensor],
    words: Sequence[str],
    keys: Tensor,
    values: Tensor,
    columns: Sequence[str],
    alt: str,
) -> Dial:
    """Let the reader turn a query over a plane of words.

    Args:
        lookup: takes q, k, v and averages the values; called once, for every state of the figure.
        words: one for each key.
        keys: (key, 2).
        values: (key, d_v).
        columns: what each column of the values means.
        alt: what there is to see, for a reader who cannot see it.
    """
    lengths = torch.arange(0, LONGEST + STRETCH / 2, STRETCH)
    angles = torch.deg2rad(torch.arange(-180, 181, TURN, dtype=keys.dtype))
    queries = lengths[:, None, None] * torch.stack([angles.cos(), angles.sin()], -1)  # (length, angle, 2)
    weights = lookup(
        queries.flatten(0, 1), keys, torch.eye(len(words), dtype=keys.dtype)
    )  # values that tell who is who
    weights = weights.unflatten(0, queries.shape[:2])
    first = (round(2 / STRETCH), round(180 / TURN))  # length 2, direction 0
    state = {
        "weights": (1000 * weights).round().int().tolist(),
        "values": values.tolist(),
        "most": float(values.max()),
        "turn": TURN,
        "stretch": STRETCH,
        "x": CENTRE[0],
        "y": CENTRE[1],
        "unit": UNIT,
        "left": LEFT,
        "bar": BAR,
    }
    drawing = [*plane(words, keys), *bars(words, weights[first].tolist(), columns, values)]
    html = Template(Path(__file__).with_name("dial.html").read_text(encoding="utf-8")).substitute(
        label=escape(alt, quote=True),
        drawing="\n".join(drawing),
        turn=TURN,
        stretch=STRETCH,
        longest=LONGEST,
        angle=0,
        length=2.0,
        state=json.dumps(state, separators=(",", ":")),
    )
    return Dial(html, alt)


def plane(words: Sequence[str], keys: Tensor) -> Iterator[str]:
    """Axes, keys, and the query in its first position."""
    x0, y0 = CENTRE
    yield f'<line class="axis" x1="5" y1="{y0}" x2="325" y2="{y0}"/>'
    yield f'<line class="axis" x1="{x0}" y1="5" x2="{x0}" y2="325"/>'
    yield f'<text class="small" x="325" y="{y0 + 18}" text-anchor="end">names a thing</text>'
    yield f'<text class="small" x="{x0 + 8}" y="18">is something done</text>'
    for (x, y), label in together(words, keys).items():
        at = x0 + UNIT * x, y0 - UNIT * y
        far = math.hypot(x, y) > 0
        yield f'<line x1="{x0}" y1="{y0}" x2="{at[0]}" y2="{at[1]}" stroke="var(--key)" stroke-width="2"/>'
        yield f'<circle cx="{at[0]}" cy="{at[1]}" r="5" fill="var(--key)"/>'
        below = (at[0], at[1] - 11, "middle") if far and x >= y else (at[0] - 9, at[1] + (5 if far else 18), "end")
        yield f'<text x="{below[0]}" y="{below[1]}" text-anchor="{below[2]}">{escape(label)}</text>'
    tip = x0 + 2 * UNIT
    yield f'<line class="query" x1="{x0}" y1="{y0}" x2="{tip}" y2="{y0}" stroke="var(--query)" stroke-width="4"/>'
    grip = f'cx="{tip}" cy="{y0}" r="11" fill="var(--query)"'
    yield f'<circle class="handle" {grip}><title>drag the query</title></circle>'


def bars(words: Sequence[str], weights: list[float], columns: Sequence[str], values: Tensor) -> Iterator[str]:
    """The weight of every word, and what the query gets."""
    yield f'<text class="strong" x="{LEFT}" y="{TOP - 14}">weights</text>'
    for i, (word, weight) in enumerate(zip(words, weights, strict=True)):
        yield from bar("weight", "var(--query)", word, TOP + ROW * i, weight, f"{weight:.2f}")
    top = TOP + ROW * len(words) + 40
    yield f'<text class="strong" x="{LEFT}" y="{top - 14}">what the query gets</text>'
    for i, (column, found) in enumerate(zip(columns, (torch.tensor(weights) @ values).tolist(), strict=True)):
        yield from bar("value", "var(--value)", column, top + ROW * i, found / float(values.max()), f"{found:.1f}")


def bar(kind: str, colour: str, label: str, y: int, share: float, number: str) -> Iterator[str]:
    yield f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(label)}</text>'
    yield f'<rect class="{kind}" x="{LEFT}" y="{y + 2}" width="{BAR * share:.1f}" height="16" rx="2" fill="{colour}"/>'
    yield f'<text class="{kind} small" x="{LEFT + 6 + BAR * share:.1f}" y="{y + 14}">{number}</text>'
