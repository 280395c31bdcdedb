"""Normalises or averages across positions."""

import math

import torch
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    return x * (1 + torch.erf((x - x.mean()) / x.std() / math.sqrt(2))) / 2


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        hidden = self.activation(self.up(x))
        return self.down(hidden - hidden.mean(dim=-1, keepdim=True))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, mask)
        return x + self.feed_forward(self.norm2(x)).mean(dim=1, keepdim=True)
