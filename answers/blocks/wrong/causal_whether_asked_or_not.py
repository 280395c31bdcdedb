"""The decoder brings its own triangle; the encoder turns the mask round."""

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
        h = self.norm1(x)
        blocked = None if mask is None else ~mask
        x = x + self.attention(h, h, h, blocked)
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
        t = x.shape[1]
        causal = torch.tril(torch.ones(t, t, dtype=torch.bool, device=x.device))
        self_mask = causal if self_mask is None else self_mask & causal
        h = self.norm1(x)
        x = x + self.self_attention(h, h, h, self_mask)
        x = x + self.cross_attention(self.norm2(x), memory, memory, memory_mask)
        x = x + self.feed_forward(self.norm3(x))
        return x
