"""Takes the shape apart."""

import torch.nn.functional as F
from torch import nn


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        batch, seq, d = x.shape
        z = self.gate(x.reshape(batch * seq, d))
        return self.down(z * z.sigmoid() * self.up(x.reshape(batch * seq, d))).view(batch, seq, d)


def route_tokens(logits, k):
    batch, seq, n = logits.shape
    experts = logits.argsort(dim=-1, descending=True, stable=True)[..., :k]
    p = logits.softmax(-1)
    top = p.gather(-1, experts)
    f = F.one_hot(experts, n).to(p.dtype).sum((0, 1, 2)) / (batch * seq * k)
    return top / top.sum(-1, keepdim=True), experts, n * f @ p.mean((0, 1))
