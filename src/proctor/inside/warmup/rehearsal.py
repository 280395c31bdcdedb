"""What a child would do for the first time, done before in the zygote: the first time is slow, and a fork inherits it.

Python and torch remember where they found an attribute, which kernel a call led to, what a line of code usually meets.
Each of these notes is a write; made in a child, it costs the copy of a page in every child.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import Any

from proctor.forbid import FUSED_ATTENTION, SOFTMAX
from proctor.forbid.replace import Blocker
from proctor.inside import protocol
from proctor.inside.harness import Channel, pack_job, run
from proctor.inside.running import Cell, Draws, Job, Probes

# A submission whose answers give back what they get, by what a student's code may call.
SUBMISSION = '''
import math

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
        scores = x @ x.transpose(-2, -1) / math.sqrt(x.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = softmax(scores)
        return self.proj(weights @ x), weights

class Echo(nn.Module):
    def __init__(self, *args, **options):
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, *args, **options):
        return args[0] * 1.0

def echo(*args, **options):
    return args[0] * 1.0

for _ in range(4):
    x = torch.ones(2, 3, 4, requires_grad=True)
    out, weights = Attention(4)(x, torch.ones(3, 3, dtype=torch.bool).tril())
    (out.mean(-1) + out.var(-1) - weights.log().clamp(min=0).sum(-1)).sum().backward()
    F.layer_norm(x.detach().to("meta"), (4,))
    Attention(4).double()(x.detach().double())
    Attention(4).bfloat16()(x.detach().bfloat16())
    torch.einsum("bid,bjd->bij", x, x).view(2, 9).unsqueeze(0).expand(3, 2, 9).permute(2, 0, 1).contiguous()
    torch.cat([x, x], dim=-1).reshape(2, 3, 2, 4).flatten(2).chunk(2, dim=-1)[0].squeeze().std(dim=-1, unbiased=False)
    torch.where(x > 0, torch.zeros_like(x), torch.full_like(x, 2.0)).max(dim=-1, keepdim=True).values.to(x.dtype)
    torch.arange(3, device=x.device).float().pow(2).sqrt()[:, None] + torch.tensor(1.0) * x.shape[-1] ** 0.5
'''


class Rehearsed(Channel):
    """A channel with a job at one end and nobody at the other."""

    def __init__(self, job: bytes) -> None:
        super().__init__(os.open(os.devnull, os.O_WRONLY))
        self.stream = io.BytesIO(protocol.frame(protocol.JOB, job))

    def _exactly(self, count: int) -> bytes:
        return self.stream.read(count)


def rehearse(
    probes: Probes, draws: Draws, limits: Mapping[str, Any], public_modules: Mapping[str, str] | None = None
) -> None:
    """Run a submission that no student wrote, with all probes, and import all public modules."""
    modules = {"rehearsed": SUBMISSION, **(public_modules or {})}
    blocker = Blocker()
    for answer in ("echo", "Echo"):
        job = Job(
            cells=[
                Cell("cell 0", "\n".join(f"import {name}" for name in modules)),
                Cell("cell 1", SUBMISSION),
                Cell("cell 2", "; ".join(f"{name} = {answer}" for name in probes)),
            ],
            modules=modules,
            stand_ins={"softmax": "rehearsed"},
            exercises={name: list(functions) for name, functions in probes.items()},
            forbid=dict.fromkeys(list(probes)[1:], (SOFTMAX, FUSED_ATTENTION)),  # one goes without, as some do
        )
        channel = Rehearsed(pack_job(job))
        run(channel, blocker, probes, draws, limits)
        channel.close()
