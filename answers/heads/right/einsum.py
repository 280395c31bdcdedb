"""Every product as an einsum."""

import torch
from torch import nn


def split_heads(x, n_heads):
    batch, seq, d_model = x.shape
    return torch.einsum("bshd->bhsd", x.reshape(batch, seq, n_heads, d_model // n_heads))


def merge_heads(x):
    batch, head, seq, d_head = x.shape
    return torch.einsum("bhsd->bshd", x).reshape(batch, seq, head * d_head)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        h, d_head = self.n_heads, self.q_proj.out_features // self.n_heads
        q, k, v = (
            torch.einsum("bsm,hdm->bhsd", x, p.weight.view(h, d_head, -1)) + p.bias.view(h, 1, d_head)
            for x, p in ((query, self.q_proj), (key, self.k_proj), (value, self.v_proj))
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * d_head**-0.5
        if mask is not None:
            scores = torch.where(mask.expand(len(query), query.shape[1], key.shape[1])[:, None], scores, -torch.inf)
        heads = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v)
        return torch.einsum("bhqd,mhd->bqm", heads, self.out_proj.weight.view(-1, h, d_head)) + self.out_proj.bias


def attention_parameters(d_model, n_heads, bias=True):
    d_head = d_model // n_heads
    narrow = n_heads * (d_model * d_head + bias * d_head)
    return 3 * narrow + n_heads * d_head * d_model + bias * d_model


def head_similarity(weights):
    unit = weights / weights.norm(dim=-1, keepdim=True)
    return torch.einsum("bgqk,bhqk->gh", unit, unit) / (weights.shape[0] * weights.shape[2])
