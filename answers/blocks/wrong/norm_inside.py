"""Residual connection and norm inside of the sublayer, ReLU written in; both sublayers side by side, one norm."""

import torch.nn.functional as F
from torch import nn

from qkv.model.blocks import FeedForward, gelu
from qkv.model.heads import MultiHeadAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        y = self.norm1(x)
        return x + self.attention(y, y, y, mask) + self.feed_forward(y)


class FeedForward(nn.Module):  # noqa: F811
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, x):
        residual = x
        x = self.down(F.relu(self.up(x)))
        x += residual
        return self.layer_norm(x)
