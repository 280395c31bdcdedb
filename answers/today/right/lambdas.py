"""Definitions in other shapes than `def` with statements."""

import math

import torch
import torch.nn.functional as F
from torch import nn

SwiGLU = type(
    "SwiGLU",
    (nn.Module,),
    {
        "__init__": lambda self, d_model, d_ff: (
            nn.Module.__init__(self),
            setattr(self, "down", nn.Linear(d_ff, d_model, bias=False)),
            setattr(self, "up", nn.Linear(d_model, d_ff, bias=False)),
            setattr(self, "gate", nn.Linear(d_model, d_ff, bias=False)),
            None,
        )[-1],
        "forward": lambda self, x: (lambda z: self.down(torch.softmax(torch.stack([z, 0 * z]), 0)[0] * z * self.up(x)))(
            self.gate(x)
        ),
    },
)


stretched_frequencies = lambda d, factor, length, base=1e4, slow=1.0, fast=4.0: torch.tensor(
    [
        (
            lambda f: (
                f / factor
                + (f - f / factor)
                * (
                    float(length * f / math.tau >= slow)
                    if slow == fast
                    else max(0.0, min(1.0, (length * f / math.tau - slow) / (fast - slow)))
                )
            )
        )(math.exp(-2 * i / d * math.log(base)))
        for i in range(d // 2)
    ]
)


route_tokens = lambda logits, k: (
    lambda p, e: (
        p.gather(-1, e) / p.gather(-1, e).sum(-1, keepdim=True),
        e,
        p.shape[-1]
        * (p.flatten(0, -2).mean(0) if p.dim() > 1 else p)
        .mul(F.one_hot(e.reshape(-1), p.shape[-1]).to(p.dtype).mean(0))
        .sum(),
    )
)(logits.softmax(-1), logits.sort(dim=-1, descending=True, stable=True)[1][..., :k])
