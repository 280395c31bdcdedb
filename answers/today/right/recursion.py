"""A function that calls itself."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.norm import RMSNorm
from qkv.model.today import GroupedAttention, SwiGLU


def accept_drafts(p, q, drafted, generator):
    u = torch.rand(len(drafted), generator=generator)

    def go_on(t):
        if t == len(drafted):
            return torch.multinomial(p[t], 1, generator=generator).tolist()
        x = int(drafted[t])
        if p[t, x] > u[t] * q[t, x]:
            return [x, *go_on(t + 1)]
        rest = torch.where(p[t] > q[t], p[t] - q[t], 0)
        return torch.multinomial(rest, 1, generator=generator).tolist()

    return go_on(0)


class Llama(nn.Module):
    def __init__(
        self, vocab, d_model, n_heads, n_groups, n_layers, d_ff, d_head=None, qk_norm=False, tied=False, base=10000.0,
        eps=1e-6,
    ):  # fmt: skip
        super().__init__()
        width = d_model // n_heads if d_head is None else d_head
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            parts = {
                "norm1": RMSNorm(d_model, eps),
                "attention": GroupedAttention(d_model, n_heads, n_groups, width, qk_norm, eps),
                "norm2": RMSNorm(d_model, eps),
                "feed_forward": SwiGLU(d_model, d_ff),
            }
            self.layers.append(nn.ModuleDict(parts))
        self.norm = RMSNorm(d_model, eps)
        self.out = None if tied else nn.Linear(d_model, vocab, bias=False)
        speeds = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        self.register_buffer("frequencies", speeds, persistent=False)

    def forward(self, ids, caches=None):
        def climb(i, x):
            if i == len(self.layers):
                return self.norm(x), []
            norm1, attention, norm2, network = (
                self.layers[i][n] for n in ("norm1", "attention", "norm2", "feed_forward")
            )
            seen, kept = attention(norm1(x), self.frequencies, caches[i] if caches else None)
            top, others = climb(i + 1, x + seen + network(norm2(x + seen)))
            return top, [kept, *others]

        x, kept = climb(0, F.embedding(ids, self.tokens.weight))
        return (torch.einsum("bnd,vd->bnv", x, self.tokens.weight) if self.out is None else self.out(x)), kept
