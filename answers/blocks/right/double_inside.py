"""Computes in float64 and hands the answer back in the dtype that came in."""

import math

import torch
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    wide = x.double()
    return (wide * (0.5 + 0.5 * torch.erf(wide / math.sqrt(2.0)))).to(x.dtype)


def dropout(x, p, generator):
    keep = (torch.rand(x.shape, generator=generator) >= p).double()
    if p < 1:
        keep = keep / (1.0 - p)
    return (x.double() * keep).to(x.dtype)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        wide = x.double() @ self.up.weight.double().T + self.up.bias.double()
        back = self.activation(wide) @ self.down.weight.double().T + self.down.bias.double()
        return back.to(x.dtype)


def normed(x, norm):
    centred = x - x.mean(-1, keepdim=True)
    return norm.weight * centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt() + norm.bias


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        y = normed(x, self.norm1)
        x = x + self.attention(y, y, y, mask)
        return x + self.feed_forward(normed(x, self.norm2))


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
        y = normed(x, self.norm1)
        x = x + self.self_attention(y, y, y, self_mask)
        x = x + self.cross_attention(normed(x, self.norm2), memory, memory, memory_mask)
        return x + self.feed_forward(normed(x, self.norm3))
