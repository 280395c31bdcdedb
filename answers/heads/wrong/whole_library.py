"""Copies its weights into torch's own layer and calls that."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        three = self.q_proj, self.k_proj, self.v_proj
        if mask is not None:
            mask = ~mask.expand(len(query), query.shape[1], key.shape[1]).repeat_interleave(self.n_heads, 0)
        output, _ = nn.functional.multi_head_attention_forward(
            query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), query.shape[-1], self.n_heads,
            torch.cat([p.weight for p in three]), torch.cat([p.bias for p in three]), None, None, False, 0.0,
            self.out_proj.weight, self.out_proj.bias, attn_mask=mask, need_weights=False,
        )  # fmt: skip
        return output.transpose(0, 1)
