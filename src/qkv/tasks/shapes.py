"""Pictures of one coloured shape in a quarter of a small square, and what is said of them: "red ring top left"."""

from __future__ import annotations

import torch
from torch import Tensor

COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0)}
# Each shape from top to bottom; # is painted.
SHAPES = {
    "ring": ("####", "#..#", "#..#", "####"),
    "disc": (".##.", "####", "####", ".##."),
    "cross": (".#..", "###.", ".#..", "...."),
    "stripes": ("....", "####", "....", "####"),
}
ROWS, COLUMNS = ("top", "bottom"), ("left", "right")
WORDS = (*COLOURS, *SHAPES, *ROWS, *COLUMNS)
SIDE = 8


def captions() -> Tensor:
    """All that can be said (64, 4), as ids of WORDS: colour, shape, row, column."""
    sizes = [len(words) for words in (COLOURS, SHAPES, ROWS, COLUMNS)]
    begins = torch.tensor([0, *sizes[:-1]]).cumsum(0)
    return torch.cartesian_prod(*(torch.arange(size) for size in sizes)) + begins


def words_of(caption: Tensor) -> str:
    """A caption (4,) in words."""
    return " ".join(WORDS[word] for word in caption.tolist())


def pictures(which: Tensor, generator: torch.Generator, noise: float = 0.2) -> Tensor:
    """Draw a picture for each caption that is asked for.

    Args:
        which: rows of captions() (n,), int64.
        generator: the only source of chance.
        noise: deviation of what is added to every pixel.

    Returns:
        pictures (n, 3, 8, 8): red, green, blue.
    """
    paints = torch.tensor(list(COLOURS.values())).float()
    forms = torch.tensor([[[dot == "#" for dot in row] for row in shape] for shape in SHAPES.values()]).float()
    colour, shape, row, column = (captions()[which] - captions()[0]).T
    quarter = paints[colour][:, :, None, None] * forms[shape][:, None]  # (n, 3, 4, 4)
    images = torch.zeros(len(which), 3, 2, 4, 2, 4)
    images[torch.arange(len(which)), :, row, :, column] = quarter
    images = images.reshape(len(which), 3, SIDE, SIDE)
    return images + noise * torch.randn(images.shape, generator=generator)
