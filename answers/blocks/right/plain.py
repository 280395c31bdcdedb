"""As short as it gets."""

import torch
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    return x * torch.special.ndtr(x)


def dropout(x, p, generator):
    kept = torch.rand(x.shape, generator=generator) >= p
    return torch.where(kept, x / max(1 - p, 1e-9), 0 * x) if p < 1 else torch.zeros_like(x) * x


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        y = self.norm1(x)
        x = self.attention(y, y, y, mask=mask) + x
        return self.feed_forward(self.norm2(x)) + x


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
        x = self.self_attention(y, y, y, mask=self_mask) + x
        x = self.cross_attention(query=self.norm2(x), key=memory, value=memory, mask=memory_mask) + x
        return self.feed_forward(self.norm3(x)) + x
