"""The queries are left where they are; one token of the padding counts."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import merge_heads, split_heads
from qkv.model.positions import rotate
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
        positions = torch.arange(x.size(1), device=x.device)
        q = split_heads(self.q_proj(x), self.n_heads)
        k = rotate(split_heads(self.k_proj(x), self.n_heads), positions)
        v = split_heads(self.v_proj(x), self.n_heads)
        if mask is not None:
            mask = mask.unsqueeze(-3)
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)[0]))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    real = torch.arange(ids.shape[1] - 1, device=ids.device)[None, :] < lengths[:, None]
    return F.cross_entropy(logits[real], ids[:, 1:][real])
