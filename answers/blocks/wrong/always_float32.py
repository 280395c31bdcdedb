"""Everything comes back as float32."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    x = x.float()
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def dropout(x, p, generator):
    kept = (torch.rand(x.shape, generator=generator) >= p).float()
    return x.float() * kept / (1 - p) if p < 1 else x.float() * 0


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        hidden = self.activation(F.linear(x.float(), self.up.weight.float(), self.up.bias.float()))
        return F.linear(hidden, self.down.weight.float(), self.down.bias.float())


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
        return (x + self.feed_forward(self.norm2(x))).float()
