"""The eps of another library, in all norms but the first."""

from torch import nn
from torch.nn import functional as F

from qkv.model.blocks import FeedForward
from qkv.model.heads import MultiHeadAttention


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-6)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm3 = nn.LayerNorm(d_model, eps=1e-6)
        self.feed_forward = FeedForward(d_model, d_ff, F.gelu)

    def forward(self, x, memory, self_mask=None, memory_mask=None):
        y = self.norm1(x)
        x = x + self.self_attention(y, y, y, self_mask)
        x = x + self.cross_attention(self.norm2(x), memory, memory, memory_mask)
        return x + self.feed_forward(self.norm3(x))
