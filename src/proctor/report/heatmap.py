"""Yours, expected, difference: small pictures of tensors, as inline SVG that needs nothing else.

Orange is above 0 and blue below, a pair that people with any kind of colour blindness tell apart; a cell that is no
number has a cross; a cell that is wrong has a frame. What the picture shows is said in words as well.
"""

from __future__ import annotations

import math
from html import escape

import torch
from torch import Tensor

from proctor.examining.compare import ComparableTensor

CELL = 14  # pixels
MOST = 16  # rows and columns
ABOVE, BELOW, MIDDLE = (217, 95, 2), (33, 102, 172), (247, 247, 247)


def heat_maps(name: str, yours: Tensor, expected: Tensor) -> str:
    """Three pictures side by side, or two where the shapes differ; nothing for a single number."""
    same = yours.shape == expected.shape
    if not expected.numel() or not yours.numel() or (expected.numel() == 1 and yours.numel() == 1):
        return ""
    wrong = torch.from_numpy(ComparableTensor(expected).errors(ComparableTensor(yours)) > 1.0) if same else None
    place = worst(wrong) if wrong is not None else ()
    pictures = []
    finite = torch.cat([t.double().flatten() for t in (yours, expected)])
    scale = largest(finite)
    pictures.append(picture(f"your {name}", at(yours, place), scale, at(wrong, place) if wrong is not None else None))
    pictures.append(picture(f"expected {name}", at(expected, place), scale))
    if same:
        difference = yours.double() - expected.double()
        pictures.append(picture("difference", at(difference, place), largest(difference)))
    where = f"{name}[{', '.join(map(str, place))}]" if place else name
    return (
        f'<figure style="margin:.5rem 0;display:flex;gap:1.2rem;flex-wrap:wrap;align-items:flex-end">'
        f'{"".join(pictures)}<figcaption style="flex-basis:100%;font-size:12px">{escape(where)}: '
        f"orange is above 0, blue below; frames mark what is wrong.</figcaption></figure>"
    )


def worst(wrong: Tensor) -> tuple[int, ...]:
    """The leading indices of the matrix with the most wrong entries."""
    if wrong.dim() <= 2:
        return ()
    counts = wrong.flatten(-2).sum(-1)
    return tuple(int(i) for i in torch.unravel_index(counts.argmax(), counts.shape))


def at(tensor: Tensor, place: tuple[int, ...]) -> Tensor:
    """One matrix of a tensor."""
    matrix = tensor[place] if place else tensor
    while matrix.dim() > 2:
        matrix = matrix[0]
    shown: Tensor = torch.atleast_2d(matrix)[:MOST, :MOST]
    return shown


def largest(values: Tensor) -> float:
    finite = values[values.isfinite()].abs()
    return float(finite.max()) if finite.numel() and float(finite.max()) > 0 else 1.0


def picture(title: str, matrix: Tensor, scale: float, wrong: Tensor | None = None) -> str:
    rows, columns = matrix.shape
    cells = []
    for i in range(rows):
        for j in range(columns):
            value = float(matrix[i, j])
            x, y = j * CELL, i * CELL
            frame = ' stroke="currentColor" stroke-width="1.5"' if wrong is not None and bool(wrong[i, j]) else ""
            size, fill = f'width="{CELL - 2}" height="{CELL - 2}"', colour(value, scale)
            cells.append(
                f'<rect x="{x + 1}" y="{y + 1}" {size} fill="{fill}"{frame}>'
                f"<title>[{i}, {j}] {value:.4g}</title></rect>"
            )
            if not math.isfinite(value):
                cells.append(f'<path d="M{x + 3} {y + 3}l8 8m0-8l-8 8" stroke="#b00020" stroke-width="2"/>')
    said = f"{title}: {rows} rows and {columns} columns" + (
        f", {int(wrong.sum())} of {wrong.numel()} entries are wrong" if wrong is not None else ""
    )
    size = f'width="{columns * CELL}" height="{rows * CELL}"'
    svg = f'<svg role="img" aria-label="{escape(said)}" {size}>{"".join(cells)}</svg>'
    return f'<div><div style="font-size:12px">{escape(title)}</div>{svg}</div>'


def colour(value: float, scale: float) -> str:
    """A colour from blue over near white to orange."""
    if not math.isfinite(value):
        return "#dddddd"
    share = max(-1.0, min(1.0, value / scale))
    end = ABOVE if share >= 0 else BELOW
    mixed = (round(m + abs(share) * (e - m)) for m, e in zip(MIDDLE, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
