"""The mask is taken and forgotten, in the layer or in one of its halves."""

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
        z = self.norm1(x)
        x = x + self.attention(z, z, z)
        x = x + self.feed_forward(self.norm2(x))
        return x


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
        norm_x = self.norm1(x)
        x = x + self.self_attention(norm_x, norm_x, norm_x, self_mask)
        norm_x = self.norm2(x)
        x = x + self.cross_attention(norm_x, memory, memory)
        norm_x = self.norm3(x)
        x = x + self.feed_forward(norm_x)
        return x
