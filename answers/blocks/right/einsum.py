"""Every product as an einsum, every probability from erfc."""

import torch
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    return 0.5 * x * torch.erfc(-x * 0.5**0.5)


def dropout(x, p, generator):
    draws = torch.rand(x.shape, generator=generator)
    factors = torch.zeros_like(x).masked_fill(draws >= p, 1 / (1 - p) if p < 1 else 0.0)
    return torch.einsum("...,...->...", x, factors)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        hidden = torch.einsum("...i,oi->...o", x, self.up.weight) + self.up.bias
        return torch.einsum("...i,oi->...o", self.activation(hidden), self.down.weight) + self.down.bias


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        x = x + self.attention(*3 * (self.norm1(x),), mask)
        return x + self.feed_forward(self.norm2(x))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm3 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        x = x + self.self_attention(*3 * (self.norm1(x),), self_mask)
        x = x + self.cross_attention(self.norm2(x), *2 * (memory,), memory_mask)
        return x + self.feed_forward(self.norm3(x))
