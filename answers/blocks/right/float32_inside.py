"""Computes in float32, whatever came in, and casts back; parts as partial functions, objects and shared methods."""

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.blocks import FeedForward, gelu
from qkv.model.heads import MultiHeadAttention


class Gelu:
    def __call__(self, x):
        wide = x.float()
        return (wide * 0.5 * torch.erfc(-wide * math.sqrt(0.5))).to(x.dtype)


gelu = Gelu()  # noqa: F811


def thinned(x, p, generator, nothing):
    if p == 1:
        return nothing(x)
    kept = torch.rand(x.shape, generator=generator) >= p
    return torch.where(kept, x / (1 - p), 0)


dropout = functools.partial(thinned, nothing=torch.zeros_like)


class FeedForward(nn.Module):  # noqa: F811
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        hidden = F.linear(x.float(), self.up.weight.float(), self.up.bias.float()).to(x.dtype)
        return F.linear(self.activation(hidden), self.down.weight, self.down.bias)


def residual(method):
    @functools.wraps(method)
    def added(self, x, *args):
        return x + method(self, x, *args)

    return added


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    @residual
    def attend(self, x, mask):
        return self.attention(*[self.norm1(x)] * 3, mask=mask)

    @residual
    def work(self, x):
        return self.feed_forward(self.norm2(x))

    def forward(self, x, mask=None):
        return self.work(self.attend(x, mask))


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
        y = self.norm1(x)
        sublayers = [
            lambda _: self.self_attention(query=y, key=y, value=y, mask=self_mask),
            lambda x: self.cross_attention(self.norm2(x), memory, memory, mask=memory_mask),
            lambda x: self.feed_forward(self.norm3(x)),
        ]
        for sublayer in sublayers:
            x = x + sublayer(x)
        return x
