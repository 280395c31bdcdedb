"""Sums or counts where a mean or a share is asked for."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = (scores == scores.max(-1, keepdim=True)[0]).to(q.dtype)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries[..., None], keys[..., None, :])
    total = (chosen.to(values.dtype) * values[..., None, :]).sum(-1)
    return torch.where(chosen.any(-1), total, torch.full_like(total, default))


def bracket_state(ids):
    opened, closed = (ids == 1).cumsum(-1), (ids == 2).cumsum(-1)
    open_now = opened - closed
    return torch.where((open_now < 0).cumsum(-1) > 0, 2, open_now)


def offset_head(k, d_model, beta, base=10000.0):
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta * back, beta * torch.eye(d_model)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return bits.to(table.dtype), (1 - bits.sum(-1)).to(table.dtype), table.clone()


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).to(rows.dtype)
    return matches @ rows[..., 1:, :]


def rank_residual(x):
    return (x - x.mean(-2, keepdim=True)).square().sum((-2, -1)) / x.square().sum((-2, -1))
