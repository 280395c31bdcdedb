"""Cuts the input into blocks and gives each head a corner of the matrix."""

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
        d = query.shape[-1] // self.n_heads
        found = []
        for h in range(self.n_heads):
            block = slice(h * d, (h + 1) * d)
            q, k, v = (
                nn.functional.linear(x[..., block], p.weight[block, block], p.bias[block])
                for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
            )
            found.append(scaled_dot_product_attention(q, k, v, mask)[0])
        return self.out_proj(torch.cat(found, dim=-1))


def attention_parameters(d_model, n_heads, bias=True):
    d_head = d_model // n_heads
    return 4 * (n_heads * d_head * d_head + d_model * bias)


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).permute(2, 0, 1, 3)
