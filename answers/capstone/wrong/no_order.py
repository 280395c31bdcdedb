"""Queries and keys stay as they are; every token is asked for itself."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import merge_heads, split_heads
from qkv.model.scaling import scaled_dot_product_attention


class RotaryAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q_proj, self.k_proj, self.v_proj))
        output, _ = scaled_dot_product_attention(q, k, v, None if mask is None else mask.unsqueeze(-3))
        return self.out_proj(merge_heads(output))


def next_token_loss(model, ids, lengths):
    logits = model(ids)
    real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    return F.cross_entropy(logits[real], ids[real])
