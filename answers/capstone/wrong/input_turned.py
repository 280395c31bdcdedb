"""The stream is turned before it is projected; the sum is divided by all places."""

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
        turned = rotate(x, torch.arange(x.size(1), device=x.device))
        q, k, v = (split_heads(y, self.n_heads) for y in (self.q_proj(turned), self.k_proj(turned), self.v_proj(x)))
        if mask is not None:
            mask = mask.unsqueeze(-3)
        return self.out_proj(merge_heads(scaled_dot_product_attention(q, k, v, mask)[0]))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    targets = ids[:, 1:]
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    surprise = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return (surprise * real).mean()
