"""What several exercises of this chapter share."""

from __future__ import annotations

import torch
from torch import Tensor


def outline(weights: Tensor) -> Tensor:
    """Shape and dtype of weights without their entries: all are one number, which another shape would not have."""
    return torch.full_like(weights, sum(size * 10**i for i, size in enumerate(weights.shape)))
