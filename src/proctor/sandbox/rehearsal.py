"""What a child would do for the first time, done once in the zygote: the first time is slow, and a fork inherits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from proctor.forbid import SOFTMAX
from proctor.sandbox import protocol
from proctor.sandbox.cells import run_cells
from proctor.sandbox.harness import NAMESPACE, look, pack
from proctor.sandbox.kernels import Blocker, look_up_all

REHEARSED = '''
import torch
import torch.nn.functional as F
from torch import Tensor, nn

def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """Words."""
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)

class Attention(nn.Module):
    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        weights = softmax(x @ x.transpose(-2, -1) / x.shape[-1] ** 0.5)
        return self.proj(weights @ x), weights

x = torch.ones(2, 3, 4, requires_grad=True)
F.layer_norm(x.to("meta"), (4,)).sum()
Attention(4)(x)[0].sum().backward()
Attention(4).double()(x.detach().double())
'''


class Echo(torch.nn.Module):
    """Stands in for an answer while the zygote rehearses: gives back its first argument, called or built and called."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 3)

    def forward(self, *args: Any, **options: Any) -> Any:
        return args[0] * 1.0


def echo(*args: Any, **options: Any) -> Any:
    return args[0] * 1.0


def rehearse(
    probes: Mapping[str, Mapping[str, Callable[..., Any]]], draws: Mapping[str, Mapping[str, torch.Tensor]]
) -> None:
    """Run all probes once without an answer, and a cell without a student."""
    look_up_all()
    blocker = Blocker()
    for exercise, functions in probes.items():
        with blocker.without([SOFTMAX]):
            for name, probe in functions.items():
                for implementation in (echo, Echo):
                    pack(exercise, name, look(probe, implementation, draws.get(exercise, {})), protocol.MAX_HEADER)
    run_cells([("cell 0", REHEARSED)], {"__name__": NAMESPACE})
    protocol.from_json(protocol.to_json({"cells": [["cell 0", REHEARSED]], "exercises": {}}))
