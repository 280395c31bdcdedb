"""Everything comes back as float32."""

import torch
from torch import nn

from qkv.model.scaling import scaled_dot_product_attention


def split_heads(x, n_heads):
    return x.float().unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x):
    return x.float().transpose(1, 2).flatten(2)


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
            p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2).float()
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        mask = None if mask is None else mask.unsqueeze(-3)
        merged = scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2)
        return nn.functional.linear(merged, self.out_proj.weight.float(), self.out_proj.bias.float())


def head_similarity(weights):
    unit = torch.nn.functional.normalize(weights.float(), dim=-1).transpose(1, 2)
    return (unit @ unit.mT).mean((0, 1))
