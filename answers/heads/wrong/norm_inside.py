"""Residual and norm inside the layer; tokens and columns turned before the cut."""

import torch
from torch import nn

from qkv.model.scaling import scaled_dot_product_attention


def split_heads(x, n_heads):
    batch, seq, d_model = x.shape
    return x.transpose(1, 2).reshape(batch, n_heads, seq, d_model // n_heads)


def merge_heads(x):
    batch, head, seq, d_head = x.shape
    return x.transpose(2, 3).reshape(batch, seq, head * d_head)


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
        mask = None if mask is None else mask.unsqueeze(-3)
        output = self.out_proj(scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2))
        return nn.functional.layer_norm(output + query, (query.shape[-1],))


def head_similarity(weights):
    unit = torch.nn.functional.normalize(weights, dim=-1)
    return torch.einsum("bgik,bhjk->gh", unit, unit) / (weights.shape[0] * weights.shape[2] ** 2)
