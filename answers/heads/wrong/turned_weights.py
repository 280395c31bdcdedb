"""Multiplies by the weights the wrong way round."""

import torch
from torch import nn

from qkv.model.scaling import scaled_dot_product_attention


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
            (x @ p.weight + p.bias).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        mask = None if mask is None else mask.unsqueeze(-3)
        merged = scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2)
        return merged @ self.out_proj.weight + self.out_proj.bias


def head_similarity(weights):
    flat = weights.permute(1, 0, 2, 3).flatten(1)
    return torch.corrcoef(flat)
