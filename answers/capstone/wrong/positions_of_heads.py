"""Turned while the heads stand behind the text; the sum is divided by all tokens."""

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import merge_heads
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
        q, k, v = (p(x).unflatten(-1, (self.n_heads, -1)) for p in (self.q_proj, self.k_proj, self.v_proj))
        heads = torch.arange(self.n_heads, device=x.device)
        q, k = rotate(q, heads), rotate(k, heads)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        if mask is not None:
            mask = mask.unsqueeze(-3)
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)[0]))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    surprise = F.cross_entropy(logits[real], ids[:, 1:][real], reduction="sum")
    return surprise / lengths.sum()
