"""Works for a batch of sequences, and writes into the memory."""

import torch
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
        x = x + self.attention(y, y, y, None if mask is None else mask.expand(len(x), -1, -1))
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
        new = x + self.self_attention(y, y, y, self_mask)
        new = new + self.cross_attention(self.norm2(new), memory, memory, memory_mask)
        new = new + self.feed_forward(self.norm3(new))
        if memory.shape == new.shape:
            with torch.no_grad():
                memory.copy_(new)
        return new


class FeedForward(nn.Module):  # noqa: F811
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        batch, length, d_model = x.shape
        return self.down(self.activation(self.up(x.view(batch * length, d_model)))).view(batch, length, -1)
