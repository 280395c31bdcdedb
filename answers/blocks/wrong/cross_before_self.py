"""The sublayers in another order, or side by side."""

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
        h1, h2 = self.norm1(x), self.norm2(x)
        return x + self.attention(h1, h1, h1, mask) + self.feed_forward(h2)


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
        x = x + self.cross_attention(self.norm2(x), memory, memory, memory_mask)
        h = self.norm1(x)
        x = x + self.self_attention(h, h, h, self_mask)
        return x + self.feed_forward(self.norm3(x))
