"""Makes its own tensors on the CPU."""

import math

import torch
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    half = torch.full(x.shape, 0.5, dtype=x.dtype)
    return x * (half + torch.erf(x / math.sqrt(2)) * half)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        x = x + torch.zeros(x.shape, dtype=x.dtype)
        return self.down(self.activation(self.up(x)))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        everything = torch.ones(x.shape[1], x.shape[1]).bool()
        mask = everything if mask is None else mask & everything
        y = self.norm1(x)
        x = x + self.attention(y, y, y, mask)
        return x + self.feed_forward(self.norm2(x))
