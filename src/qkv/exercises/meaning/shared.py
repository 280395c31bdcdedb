"""What several exercises of this chapter share."""

from __future__ import annotations

import torch
from torch import Tensor

from proctor.inside.inputs import distinct, integers, normal

DTYPES_OF_FLOATS = ("in_float64", "in_float16", "in_bfloat16")


def words_with_noise(*leading: int, n: int, d: int) -> tuple[Tensor, Tensor, Tensor]:
    return (
        normal(*leading, d, seed="centre"),
        normal(*leading, d, seed="context"),
        normal(*leading, n, d, seed="negatives"),
    )


def some_words() -> tuple[Tensor, Tensor, Tensor]:
    batch, n, d = distinct(2, 8, 3, seed="sizes")
    return words_with_noise(batch, n=n, d=d)


def sure_words(scale: int) -> tuple[Tensor, Tensor, Tensor]:
    """Dot products between ±8·scale and ±24·scale in all combinations: of whole numbers, so that they are exact in
    float32, whatever the order of the sum."""
    signs = torch.tensor([[1, -1], [-1, 1], [1, 1], [-1, -1]])
    centre = scale * integers(1, 3, 4, 4, seed="centre")
    context = signs[:, :1] * integers(2, 4, 4, 4, seed="context")
    negatives = signs[:, 1:, None] * integers(2, 4, 4, 3, 4, seed="negatives")
    return centre.float(), context.float(), negatives.float()


def dot_products(centre: Tensor, context: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor]:
    return (centre * context).sum(-1), (negatives @ centre.unsqueeze(-1)).squeeze(-1)
