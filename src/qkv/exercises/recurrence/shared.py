"""What several exercises of this chapter share."""

from __future__ import annotations

import math

from torch import Tensor

from proctor.inside.inputs import distinct, normal


def sizes_with_ones(seed: str) -> list[tuple[tuple[int, ...], int, int]]:
    """Leading dimensions, width of the input, width of the state: each size in turn is 1, and there are two batches."""
    batch, d_in, d = distinct(2, 9, 3, seed=seed)
    return [
        ((1,), d_in, d),
        ((batch,), 1, d),
        ((batch,), d_in, 1),
        ((), 1, 1),
        ((batch, 1), d_in, d),
        ((2, 3), d_in, d),
    ]


def recurrent(d: int, std: float = 1.0) -> Tensor:
    return normal(d, d, seed="w_h", std=std / math.sqrt(d))
