"""Right numbers, no gradients."""

import math

import torch
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    return x * (1 + torch.erf(x.detach() / math.sqrt(2))) / 2


def dropout(x, p, generator):
    kept = torch.rand(x.shape, generator=generator) >= p
    return x.data * kept / (1 - p) if p < 1 else x.data * 0


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        with torch.no_grad():
            hidden = self.activation(self.up(x))
        return self.down(hidden)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = x.detach() + self.attention(y, y, y, mask)
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
        x = x + self.self_attention(y, y, y, self_mask)
        x = x + self.cross_attention(self.norm2(x), memory.detach(), memory.detach(), memory_mask)
        return x + self.feed_forward(self.norm3(x))
