"""x / 2 in the error function, not x / √2; one number for each vector, not for each component."""

import torch
from torch import nn

from qkv.model.blocks import FeedForward
from qkv.model.blocks import gelu as reference_gelu
from qkv.model.heads import MultiHeadAttention


def gelu(x):
    return x / 2 * (1 + torch.erf(x / 2))


def dropout(x, p, generator):
    if p == 1:
        return torch.zeros_like(x)
    keep = torch.rand((*x.shape[:-1], 1), generator=generator) >= p
    return x * keep / (1 - p)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, reference_gelu)

    def forward(self, x, mask=None):
        h = self.norm1(x)
        x = x + self.attention(x, h, h, mask)
        return x + self.feed_forward(self.norm2(x))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm3 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, reference_gelu)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        y = self.norm1(x)
        x = x + self.self_attention(y, y, y, self_mask)
        y = self.norm2(x)
        x = x + self.cross_attention(memory, y, memory, memory_mask) if memory.shape == y.shape else x
        return x + self.feed_forward(self.norm3(x))
