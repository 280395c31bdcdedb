"""Right results, but the caller's tensors are changed."""

import math

import torch
from torch import nn

from qkv.model.blocks import FeedForward
from qkv.model.heads import MultiHeadAttention


def gelu(x):
    gate = (1 + torch.erf(x / math.sqrt(2))) / 2
    x *= gate
    return x


def dropout(x, p, generator):
    with torch.no_grad():
        x[torch.rand(x.shape, generator=generator) < p] = 0
    return x / (1 - p) if p < 1 else x * 0


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        y = self.norm1(x)
        x += self.attention(y, y, y, mask)
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
        y = self.norm1(x)
        x += self.self_attention(y, y, y, self_mask)
        x += self.cross_attention(self.norm2(x), memory, memory, memory_mask)
        x += self.feed_forward(self.norm3(x))
        return x
