"""One entry, one position, one sequence at a time."""

import math

import torch
from torch import nn

from qkv.model.heads import MultiHeadAttention


def gelu(x):
    gated = [number * (1 + torch.erf(number / math.sqrt(2))) / 2 for number in x.reshape(-1)]
    return torch.stack(gated).reshape(x.shape)


def dropout(x, p, generator):
    draws = torch.rand(x.shape, generator=generator).flatten().tolist()
    thinned = []
    for number, draw in zip(x.reshape(-1), draws, strict=True):
        thinned.append(number / (1 - p) if draw >= p else number * 0)
    return torch.stack(thinned).reshape(x.shape)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, activation):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    def forward(self, x):
        vectors = []
        for vector in x.reshape(-1, x.shape[-1]):
            hidden = self.activation(self.up(vector))
            vectors.append(self.down(hidden))
        return torch.stack(vectors).reshape(x.shape)


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    def forward(self, x, mask=None):
        sequences = []
        for b in range(len(x)):
            one = x[b : b + 1]
            seen = mask if mask is None or mask.dim() < 3 or len(mask) == 1 else mask[b : b + 1]
            y = self.norm1(one)
            one = one + self.attention(y, y, y, seen)
            sequences.append(one + self.feed_forward(self.norm2(one)))
        return torch.cat(sequences)


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
        def of(mask, b):
            return mask if mask is None or mask.dim() < 3 or len(mask) == 1 else mask[b : b + 1]

        sequences = []
        for b in range(len(x)):
            one, over = x[b : b + 1], memory[b : b + 1]
            y = self.norm1(one)
            one = one + self.self_attention(y, y, y, of(self_mask, b))
            one = one + self.cross_attention(self.norm2(one), over, over, of(memory_mask, b))
            sequences.append(one + self.feed_forward(self.norm3(one)))
        return torch.cat(sequences)
