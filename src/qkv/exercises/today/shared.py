"""What several exercises of this chapter share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor.inside.inputs import distinct, uniform


def even(low: int, high: int, *, seed: str) -> int:
    """An even number from low (included) to high (excluded)."""
    (half,) = distinct(low // 2, high // 2, 1, seed=seed)
    return 2 * half


def speeds(d_head: int, name: str = "speeds") -> Tensor:
    """A speed for each pair of a head, in no order, float64: no formula gives them."""
    return torch.exp(-uniform(d_head // 2, seed=name, low=0.0, high=4.0, dtype=torch.float64))


def slopes(total: Tensor, wanted: list[Tensor]) -> list[Tensor]:
    """The gradient with respect to each; 0 where there is none, as where a graph was cut."""
    if not total.requires_grad:
        return [torch.zeros_like(x) for x in wanted]
    found = torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(wanted, found, strict=True)]


def cached(result: Any) -> dict[str, Tensor]:
    """Output and cache of an attention as named tensors."""
    output, (keys, values) = result
    return {"output": output, "keys": keys, "values": values}
