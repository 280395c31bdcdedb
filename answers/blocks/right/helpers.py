"""Helpers, lambdas, a base class, sublayers in a list, and extra arguments that have defaults."""

import functools

import torch
from torch import Tensor, nn

from qkv.model.heads import MultiHeadAttention

gelu = lambda x, scale=2**0.5: x.mul(0.5) * (torch.erf(x / scale) + 1)  # noqa: E731


def dropout(x: Tensor, p: float = 0.1, generator: torch.Generator | None = None, training: bool = True) -> Tensor:
    if not training:
        return x
    survives = torch.rand(x.shape, generator=generator).ge(p)
    growth = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return x * survives.to(x) * growth


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation, bias=True):
        super().__init__()
        self.down = nn.Linear(d_ff, d_model, bias=bias)
        self.up = nn.Linear(d_model, d_ff, bias=bias)
        self.activation = activation

    def forward(self, x, *, rate=0.0):
        steps = (self.up, self.activation, self.down)
        return functools.reduce(lambda so_far, step: step(so_far), steps, x)


class Stream(nn.Module):
    def add(self, x, norm, sublayer):
        return x + sublayer(norm(x))


class EncoderLayer(Stream):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.feed_forward = FeedForward(d_model, d_ff, gelu)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm1, self.norm2 = (nn.LayerNorm(d_model) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.add(x, self.norm1, lambda y: self.attention(y, y, y, mask))
        return self.add(x, self.norm2, self.feed_forward)


class DecoderLayer(Stream):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = (MultiHeadAttention(d_model, n_heads) for _ in range(2))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, memory, self_mask=None, memory_mask=None, **unused):
        sublayers = [
            (self.norm1, lambda y: self.self_attention(y, y, y, self_mask)),
            (self.norm2, lambda y: self.cross_attention(y, memory, memory, memory_mask)),
            (self.norm3, self.feed_forward),
        ]
        for norm, sublayer in sublayers:
            x = self.add(x, norm, sublayer)
        return x
