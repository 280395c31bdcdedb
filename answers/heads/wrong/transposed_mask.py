"""The mask is turned: keys and queries change places."""

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
            p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        if mask is not None:
            mask = mask.expand(len(query), query.shape[1], key.shape[1]).mT.unsqueeze(1)
        return self.out_proj(scaled_dot_product_attention(q, k, v, mask)[0].transpose(1, 2).flatten(2))


def head_similarity(weights):
    unit = torch.nn.functional.normalize(weights, dim=-1)
    return (unit.unsqueeze(1) * unit.unsqueeze(2)).sum(-1).amax((0, 3))
