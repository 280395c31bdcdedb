import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def softmax(scores, dim):
    exp_scores = torch.exp(scores)
    return exp_scores / exp_scores.sum(dim=dim, keepdim=True)


def similarity_scores(q, k):
    return q @ k.transpose(-2, -1)


def soft_lookup(q, k, v):
    best = similarity_scores(q, k).argmax(dim=-1)
    one_hot = F.one_hot(best, k.shape[-2]).to(v.dtype)
    return one_hot @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    def forward(self, x):
        return soft_lookup(self.q_proj(x), self.k_proj(x), self.v_proj(x))


def score_variance(d, sigma, mean=0.0):
    return d * sigma**2


def softmax_jacobian(p):
    outer = p[..., :, None] * p[..., None, :]
    eye = torch.eye(p.shape[-1], dtype=p.dtype, device=p.device)
    return p[..., :, None] * eye * (1 - p[..., :, None]) + outer * (1 - eye)


def attention_entropy(weights):
    return -torch.xlogy(weights, weights).sum(dim=-1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ v, weights


def split_heads(x, n_heads):
    batch, seq, d_model = x.shape
    return x.view(batch, seq, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x):
    batch, heads, seq, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, seq, heads * d_head)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_proj(query), self.n_heads)
        k = split_heads(self.k_proj(query), self.n_heads)
        v = split_heads(self.v_proj(query), self.n_heads)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(merge_heads(out))


def attention_parameters(d_model, n_heads, bias=True):
    per_head = 3 * d_model * d_model + 3 * d_model * bias
    return n_heads * per_head + d_model * d_model + d_model * bias


def head_similarity(weights):
    unit = weights / weights.norm(dim=-1, keepdim=True)          # (batch, head, query, key)
    cosines = torch.einsum("bgqk,bhqk->bqgh", unit, unit)
    return cosines.mean(dim=(0, 1))
