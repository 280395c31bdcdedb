"""No helper, and everything inside forward."""

import torch
from torch import nn


def split_heads(x, n_heads):
    return x.view(*x.shape[:2], n_heads, -1).permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    return x.swapaxes(1, 2).reshape(x.size(0), x.size(2), -1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        batch, n_query, d_model = query.shape
        n_key, d_head = key.shape[1], d_model // self.n_heads
        q = self.q_proj(query).view(batch, n_query, self.n_heads, d_head).transpose(1, 2)
        k = self.k_proj(key).view(batch, n_key, self.n_heads, d_head).permute(0, 2, 3, 1)
        v = self.v_proj(value).view(batch, n_key, self.n_heads, d_head).transpose(1, 2)
        scores = (q / d_head**0.5) @ k
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores + torch.zeros_like(scores).masked_fill(mask == 0, -torch.inf)
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        output = weights @ v / weights.sum(-1, keepdim=True)
        return self.out_proj(output.transpose(1, 2).reshape(batch, n_query, d_model))


def attention_parameters(d_model, n_heads, bias=True):
    assert d_model % n_heads == 0
    return 4 * d_model * (d_model + 1) if bias else 4 * d_model**2


def head_similarity(weights):
    dots = (weights[:, :, None] * weights[:, None]).sum(-1)
    norms = weights.pow(2).sum(-1).sqrt()
    return (dots / (norms[:, :, None] * norms[:, None])).mean((0, 3))
