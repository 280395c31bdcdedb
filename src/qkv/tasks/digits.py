"""Pictures of a digit, drawn with 5 × 7 points on a noisy square: what it is does not depend on where it is."""

from __future__ import annotations

import torch
from torch import Tensor

# Each digit from top to bottom; the bits of a number are the points of a row.
ROWS = (
    (14, 17, 19, 21, 25, 17, 14),
    (4, 12, 4, 4, 4, 4, 14),
    (14, 17, 1, 2, 4, 8, 31),
    (31, 2, 4, 2, 1, 17, 14),
    (2, 6, 10, 18, 31, 2, 2),
    (31, 16, 30, 1, 1, 17, 14),
    (6, 8, 16, 30, 17, 17, 14),
    (31, 1, 2, 4, 8, 8, 8),
    (14, 17, 17, 14, 17, 17, 14),
    (14, 17, 17, 15, 1, 2, 12),
)
HEIGHT, WIDTH = 7, 5


def glyphs() -> Tensor:
    """The ten digits (10, 7, 5): 1 where there is a point, 0 elsewhere."""
    return torch.tensor(
        [[[row >> (WIDTH - 1 - x) & 1 for x in range(WIDTH)] for row in digit] for digit in ROWS]
    ).float()


def pictures(
    n: int, generator: torch.Generator, side: int = 12, noise: float = 0.3, place: tuple[int, int] | None = None
) -> tuple[Tensor, Tensor]:
    """Draw n pictures.

    Args:
        side: height and width of a picture.
        noise: deviation of what is added to every pixel.
        place: row and column of the digit's upper left corner; None draws one for each picture.

    Returns:
        pictures (n, 1, side, side) and which digit each shows (n,), int64.
    """
    digits = torch.randint(10, (n,), generator=generator)
    images = noise * torch.randn(n, 1, side, side, generator=generator)
    top = torch.randint(side - HEIGHT + 1, (n,), generator=generator)
    left = torch.randint(side - WIDTH + 1, (n,), generator=generator)
    if place is not None:
        top, left = torch.full((n,), place[0]), torch.full((n,), place[1])
    rows = (top[:, None] + torch.arange(HEIGHT))[:, :, None]
    columns = (left[:, None] + torch.arange(WIDTH))[:, None, :]
    images[torch.arange(n)[:, None, None], 0, rows, columns] += glyphs()[digits]
    return images, digits
