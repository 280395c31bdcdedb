"""Divides by d_model in the exponent of the speeds."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.norm import RMSNorm
from qkv.model.today import GroupedAttention, SwiGLU


class Llama(nn.Module):
    def __init__(
        self,
        vocab,
        d_model,
        n_heads,
        n_groups,
        n_layers,
        d_ff,
        d_head=None,
        qk_norm=False,
        tied=False,
        base=10000.0,
        eps=1e-6,
    ):
        super().__init__()
        d_head = d_head if d_head is not None else d_model // n_heads
        self.tokens = nn.Embedding(vocab, d_model)
        self.layers = nn.ModuleList(
            [
                nn.ModuleDict(
                    {
                        "norm1": RMSNorm(d_model, eps),
                        "attention": GroupedAttention(d_model, n_heads, n_groups, d_head, qk_norm, eps),
                        "norm2": RMSNorm(d_model, eps),
                        "feed_forward": SwiGLU(d_model, d_ff),
                    }
                )
                for _ in range(n_layers)
            ]
        )
        self.norm = RMSNorm(d_model, eps)
        self.out = None if tied else nn.Linear(d_model, vocab, bias=False)
        inv = 1.0 / base ** (torch.arange(0, d_head, 2, dtype=torch.float64) / d_model)
        self.register_buffer("frequencies", inv, persistent=False)

    def forward(self, ids, caches=None):
        h = self.tokens(ids)
        if caches is None:
            caches = [None] * len(self.layers)
        new = []
        for layer, c in zip(self.layers, caches, strict=True):
            a, c = layer["attention"](layer["norm1"](h), self.frequencies, c)
            h = h + a
            h = h + layer["feed_forward"](layer["norm2"](h))
            new.append(c)
        h = self.norm(h)
        logits = F.linear(h, self.tokens.weight) if self.out is None else self.out(h)
        return logits, new
