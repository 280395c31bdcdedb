"""Scores as they come; the loss in bits."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from qkv.model.heads import merge_heads, split_heads
from qkv.model.positions import rotate


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
        scores = torch.einsum("bhqd,bhkd->bhqk", rotate(q, positions), rotate(k, positions))
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-3), -math.inf)
        return self.out_proj(merge_heads(scores.softmax(-1) @ v))


def next_token_loss(model, ids, lengths):
    logits = model(ids[:, :-1])
    real = torch.arange(1, ids.shape[1], device=ids.device) < lengths[:, None]
    return F.cross_entropy(logits[real], ids[:, 1:][real]) / math.log(2)
