"""Drops a tenth inside the layer, always."""

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
        kept = (torch.rand(x.shape, device=x.device) >= 0.1) / 0.9
        x = x + kept * self.attention(y, y, y, mask)
        return x + self.feed_forward(self.norm2(x))
