"""What may be run in small variations without walls: code that computes, and nothing else."""

from __future__ import annotations

import pytest

from proctor.locate.harmless import is_harmless

COMPUTES = """
from __future__ import annotations
import math
from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import Tensor, nn


def norm(x: Tensor, eps: float = 1e-6) -> Tensor:
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) * math.sqrt(len(x))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self._scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        print(x.shape)
        return F.relu(norm(x)) * self._scale
"""


def test_code_that_computes() -> None:
    assert is_harmless([COMPUTES])


def test_a_package_that_was_made_harmless() -> None:
    text = "from course.mine import norm\n"
    assert not is_harmless([text])
    assert is_harmless([text], ["course"])


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "from pathlib import Path",
        "import torch.utils.data",
        "from torch import hub",
        "from torch import save as keep",
        "import numpy as np",
        "open('x', 'w')",
        "write = open",
        "exec('1')",
        "getattr(torch, 'save')",
        "torch.save(x, 'x.pt')",
        "x.numpy().tofile('x')",
        "torch.hub.download_url_to_file(a, b)",
        "torch._C._jit",
        "().__class__.__base__.__subclasses__()",
        "norm.__globals__['os']",
        "__builtins__",
        "F.torch.os.remove('x')",
        "math.__loader__",
        "async def f(): ...",
        "def broken(",
    ],
)
def test_code_that_may_reach_something_else(text: str) -> None:
    assert not is_harmless([COMPUTES, text])
