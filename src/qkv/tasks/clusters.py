"""Clouds of points around ten centres: say which centre a point belongs to. Where clouds overlap nobody can be sure.

How sure one may be is known exactly, so a model's confidence can be compared with the truth.
"""

from __future__ import annotations

import torch
from torch import Tensor

CLASSES, WIDTH = 10, 8


def centres(apart: float) -> Tensor:
    """Where the clouds are (class, width): always the same directions, `apart` times as far out."""
    return apart * torch.randn(CLASSES, WIDTH, generator=torch.Generator().manual_seed(0))


def clusters(count: int, apart: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw points (count, width) and the classes (count,) that they come from; each cloud has the deviation 1.

    Args:
        count: number of points.
        apart: distance of the centres. At 2 the clouds are nearly separate, at 0.7 they run into each other.
        generator: the only source of chance.
    """
    classes = torch.randint(CLASSES, (count,), generator=generator)
    noise = torch.randn(count, WIDTH, generator=generator)
    return centres(apart)[classes] + noise, classes


def clusters_by_bayes(points: Tensor, apart: float) -> Tensor:
    """The true probability of every class (count, class): the best that any model can say."""
    return (-torch.cdist(points, centres(apart)).square() / 2).softmax(dim=-1)
