"""A mask that is kept from the first call; sizes of 1 that are dropped."""

import torch
from torch import nn


def split_heads(x, n_heads):
    return (
        x.squeeze(1).unflatten(-1, (n_heads, -1)).transpose(1, -2) if x.shape[1] > 1 else x.unflatten(-1, (n_heads, -1))
    )


def merge_heads(x):
    return x.transpose(1, 2).flatten(2).squeeze()


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.mask = None

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            p(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        if self.mask is None and mask is not None:
            self.mask = mask.unsqueeze(-3)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -torch.inf)
        return self.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def attention_parameters(d_model, n_heads, bias=True):
    return 4 * d_model * d_model + 4 * n_heads * bias


def head_similarity(weights):
    unit = torch.nn.functional.normalize(weights.squeeze(0), dim=-1)
    if unit.dim() == 3:
        unit = unit[None]
    return (unit.transpose(1, 2) @ unit.permute(0, 2, 3, 1)).mean((0, 1)).squeeze()
