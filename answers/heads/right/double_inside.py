"""Computes in float64 and hands the answer back in the dtype that came in."""

import torch
from torch import nn


def split_heads(x, n_heads):
    batch, seq, d_model = x.shape
    return x.double().reshape(batch, seq, n_heads, d_model // n_heads).transpose(1, 2).to(x.dtype)


def merge_heads(x):
    return x.double().transpose(1, 2).flatten(2, 3).to(x.dtype)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        def heads(x, p):
            return split_heads(x.double() @ p.weight.double().T + p.bias.double(), self.n_heads)

        q, k, v = heads(query, self.q_proj), heads(key, self.k_proj), heads(value, self.v_proj)
        scores = q @ k.mT / (q.shape[-1] ** 0.5)
        if mask is not None:
            scores[~mask.unsqueeze(-3).expand_as(scores)] = -torch.inf
        merged = merge_heads(scores.softmax(-1) @ v)
        return (merged @ self.out_proj.weight.double().T + self.out_proj.bias.double()).to(query.dtype)


def attention_parameters(d_model, n_heads, bias=True):
    return torch.tensor(4 * d_model * d_model + 4 * d_model * bias)


def head_similarity(weights):
    unit = weights.double() / torch.linalg.vector_norm(weights.double(), dim=-1, keepdim=True)
    return (unit.transpose(1, 2) @ unit.permute(0, 2, 3, 1)).mean((0, 1)).to(weights.dtype)
