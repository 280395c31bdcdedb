"""Definitions in other shapes than `def` with statements."""

import torch
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
