"""What several exercises of this chapter share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from proctor.inside.inputs import distinct, number
from proctor.inside.properties import default_dtype, in_either_default
from proctor.inside.situations import Seen


def drawn_base() -> float:
    return number(20.0, 90.0, seed="base")


def even(low: int, high: int, count: int, seed: str) -> list[int]:
    """Different even numbers from low (included) to high (excluded)."""
    return [2 * half for half in distinct(low // 2, high // 2, count, seed=seed)]


def in_float64_by_default(make: Callable[[Any], Tensor]) -> Callable[[Any], Seen]:
    """A property probe: is the result float32, or of torch's default dtype, and the same where that is float64?"""

    def in_the_default_dtype(implementation: Any) -> Seen:
        """float64 as torch's default dtype

        With float64 as torch's default dtype your result is neither float64 nor float32, or its numbers are not right.
        """
        with default_dtype(torch.float64):
            result = in_either_default(make(implementation))
        # no input is float64, so nobody is told of digits that float64 would have
        return {"the result has the right dtype": result.dtype == torch.float64, "result": result.float()}

    return in_the_default_dtype


COARSER = "the same to the precision of float32 at the positions looked at; answers need not be better"


def one_per_pair(d_model: int, base: float) -> Tensor:
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def side_by_side(angles: Tensor) -> Tensor:
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
