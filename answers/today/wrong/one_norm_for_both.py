"""One norm does the work of two."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.norm import RMSNorm
from qkv.model.today import GroupedAttention, SwiGLU


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
        x, after = self.tokens(ids), []
        caches = [None] * len(self.layers) if caches is None else caches
        for layer, cache in zip(self.layers, caches, strict=True):
            seen, cache = layer["attention"](layer["norm1"](x), self.frequencies, cache)
            x = x + seen
            x = x + layer["feed_forward"](layer["norm1"](x))
            after.append(cache)
        x = self.norm(x)
        return F.linear(x, self.tokens.weight if self.out is None else self.out.weight), after
