"""The mask is never used; the longest text decides where all of them end."""

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
        output, _ = scaled_dot_product_attention(rotate(q, positions), rotate(k, positions), v)
        return self.out_proj(merge_heads(output))


def next_token_loss(model, ids, lengths):
    longest = int(lengths.max())
    logits = model(ids[:, : longest - 1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:longest].flatten())
