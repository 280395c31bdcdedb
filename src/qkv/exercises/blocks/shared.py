"""What several exercises of this chapter share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor.inside.inputs import booleans, seeded


def build_layer(cls: Any) -> Any:
    return seeded(cls(6, 2, 10))


def hidden_keys() -> Tensor:
    return torch.tensor([5, 3, 4, 2])[:, None, None] > torch.arange(5)


def masks_that_broadcast(batch: int, query: int, key: int) -> list[Tensor]:
    """Masks of every shape that broadcasts to (batch, query, key); each row allows its first key at least."""
    shapes = [
        (key,), (1, key), (query, key), (1, 1, key), (1, query, key), (batch, 1, key), (batch, query, key),
    ]  # fmt: skip
    masks = [booleans(*shape, seed=f"mask {shape}") for shape in shapes]
    for mask in masks:
        mask[..., 0] = True
    return [*masks, torch.ones(query, key, dtype=torch.bool)]


def loud(layer: Any) -> Any:
    """The same layer, but what reaches its activation is near -2.5, where approximations of GELU are worst beside it,
    and what leaves it is made large."""
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.endswith("up.weight"):
                parameter.mul_(0.1)
            elif name.endswith("up.bias"):
                parameter.fill_(-2.5)
            elif name.endswith("down.weight"):
                parameter.mul_(300.0)
    return layer


def silenced(layer: Any, *attentions: str) -> Any:
    """The same layer, of which these attentions add nothing."""
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.startswith(tuple(f"{attention}.out_proj" for attention in attentions)):
                parameter.zero_()
    return layer
