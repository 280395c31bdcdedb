"""Results that are not contiguous, and sums with torch.add and baddbmm."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    if x.dim() < 2:
        return x - x * torch.special.erfc(x / 2**0.5) / 2
    turned = x.transpose(0, -1)
    return (turned * (1 + torch.special.erf(turned / 2**0.5)) / 2).transpose(0, -1)


def dropout(x, p, generator):
    dropped = torch.rand(x.shape, generator=generator) < p
    thinned = x.masked_fill(dropped, 0.0)
    return thinned if p in (0, 1) else thinned.mul(1 / (1 - p))


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        hidden = self.activation(F.linear(x, self.up.weight, self.up.bias))
        turned = self.down.weight @ hidden.unsqueeze(-1)
        return turned.squeeze(-1) + self.down.bias


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        normed = self.norm1(x)
        found = self.attention(normed, normed, normed, mask)
        x = torch.add(x.transpose(1, 2), found.transpose(1, 2)).transpose(1, 2)
        return torch.add(x, self.feed_forward(self.norm2(x)))


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
        normed = self.norm1(x)
        total = torch.stack([x, self.self_attention(normed, normed, normed, self_mask)]).sum(0)
        found = self.cross_attention(self.norm2(total), memory, memory, memory_mask)
        total = torch.stack([total, found]).sum(0)
        return torch.stack([total, self.feed_forward(self.norm3(total))]).sum(0)
