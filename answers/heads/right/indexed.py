"""Gathers columns by their numbers; a sum over heads instead of a concatenation."""

import torch
from torch import nn

from qkv.model.scaling import scaled_dot_product_attention


def split_heads(x, n_heads):
    columns = torch.arange(x.shape[-1], device=x.device).view(n_heads, -1)  # (head, d_head)
    return x[:, :, columns].movedim(2, 1)


def merge_heads(x):
    _, head, _, d_head = x.shape
    h, d = torch.arange(head * d_head, device=x.device) // d_head, torch.arange(head * d_head, device=x.device) % d_head
    return x.permute(0, 2, 1, 3)[:, :, h, d]


class Head(nn.Module):
    def __init__(self, owner, columns):
        super().__init__()
        self.owner, self.columns = [owner], columns  # in a list, so that the owner is no child of its child

    def forward(self, query, key, value, mask):
        owner, columns = self.owner[0], self.columns
        pairs = (query, owner.q_proj), (key, owner.k_proj), (value, owner.v_proj)
        q, k, v = (nn.functional.linear(x, p.weight[columns], p.bias[columns]) for x, p in pairs)
        return scaled_dot_product_attention(q, k, v, mask)[0] @ owner.out_proj.weight[:, columns].T


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))
        width = d_model // n_heads
        self.heads = [Head(self, slice(i, i + width)) for i in range(0, d_model, width)]

    def forward(self, query, key, value, mask=None):
        return sum(head(query, key, value, mask) for head in self.heads) + self.out_proj.bias


def attention_parameters(d_model, n_heads, bias=True):
    with torch.device("meta"):
        layer = nn.MultiheadAttention(d_model, n_heads, bias=bias)  # built, never called
    return sum(p.numel() for p in layer.parameters())


def head_similarity(weights):
    others = weights.split(1, dim=1)
    return torch.stack([torch.cosine_similarity(weights, other, dim=-1).mean((0, 2)) for other in others])
