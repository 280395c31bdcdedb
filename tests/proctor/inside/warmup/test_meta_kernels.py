"""On the meta device torch's own kernels say the same as its Python versions. In a process of its own."""

from __future__ import annotations

import subprocess
import sys

COMPARED = """
import torch
from torch.nn import functional as F
from proctor.inside.warmup.meta_kernels import prefer_kernels

x = torch.ones(2, 3, 5, device="meta")
mask = torch.ones(3, 3, dtype=torch.bool, device="meta")
ATTEMPTS = [
    lambda: x - x[0], lambda: x / 2, lambda: x @ x.mT, lambda: x @ x, lambda: x.sum(1, keepdim=True),
    lambda: x.logsumexp(-1), lambda: x.flip(0), lambda: x.cummax(1).indices, lambda: x.softmax(1), lambda: x.var(-1),
    lambda: (x @ x.mT).masked_fill(~mask, 0), lambda: torch.where(mask, x @ x.mT, 0), lambda: x + torch.ones(4),
    lambda: x + torch.ones(5), lambda: x.item(), lambda: bool(x.any()), lambda: x.nonzero(), lambda: x.view(7),
    lambda: torch.einsum("bid,bjd->bij", x, x), lambda: F.layer_norm(x, (5,)), lambda: F.linear(x, x[0]),
    lambda: F.gelu(x.bfloat16()), lambda: torch.cat([x, x.double()], 1), lambda: x.argsort(-1), lambda: x.std(0),
]

def seen():
    for attempt in ATTEMPTS:
        try:
            result = attempt()
            yield tuple(result.shape), result.dtype, result.device
        except Exception as error:
            yield type(error).__name__

before = list(seen())
prefer_kernels()
after = list(seen())
print(before == after, [pair for pair in zip(before, after) if pair[0] != pair[1]])
"""


def test_kernels_agree_with_the_python_versions():
    run = subprocess.run([sys.executable, "-c", COMPARED], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "True []", run.stderr[-2000:]
