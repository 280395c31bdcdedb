"""What several exercises of this chapter share."""

from __future__ import annotations

import torch
from torch import Tensor

from proctor.inside.inputs import normal


def weighed_gradient(result: Tensor, of: Tensor) -> Tensor:
    """The gradient of the results, each row with a weight of its own; 0 if there is no graph."""
    if not result.requires_grad:
        return torch.zeros_like(of)
    (found,) = torch.autograd.grad(result, of, normal(*result.shape, seed="incoming").to(result.dtype))
    return found


def squared_distances(x: Tensor, points: Tensor) -> Tensor:
    return (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)


def states_and_patterns(*leading: int, n: int, d: int) -> tuple[Tensor, Tensor]:
    return normal(*leading, d, seed="state"), normal(n, d, seed="patterns")
