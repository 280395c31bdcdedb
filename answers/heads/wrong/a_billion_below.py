"""Hidden scores are -1e9: float16 has no such number. Heads folded into the batch."""

import torch
from torch import nn


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2).flatten(0, 1)


def merge_heads(x):
    return x[:, 0]


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(-3) == 0, -1e9)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def attention_parameters(d_model, n_heads, bias=True):
    d_head = d_model // n_heads
    return 4 * (d_model * d_head + d_head * bias)
