"""A mask gets its dimension for heads in the second place; the perplexity is returned."""

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
        q, k, v = (split_heads(p(x), self.n_heads) for p in (self.q_proj, self.k_proj, self.v_proj))
        if mask is not None:
            mask = mask[:, None]
        output, _ = scaled_dot_product_attention(rotate(q, positions), rotate(k, positions), v, mask)
        return self.out_proj(merge_heads(output))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    return F.cross_entropy(logits[real], ids[:, 1:][real]).exp()
