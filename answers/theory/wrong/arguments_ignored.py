"""One argument is never looked at."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    best = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
    weights = best / best.sum(-1, keepdim=True)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    total = torch.where(chosen, values.unsqueeze(-2), 0).sum(-1)
    return total / chosen.sum(-1).clamp(min=1)


def bracket_state(ids):
    """Every token that is not 1 closes."""
    depth = torch.where(ids == 1, 1, -1).cumsum(-1)
    return torch.where(depth.cummin(-1).values < 0, 2, (depth > 0).long())


def offset_head(k, d_model, beta, base=10000.0):
    angles = k * 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta * back, torch.eye(d_model)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), torch.zeros_like(table), table.clone()


def induction_head(ids, vocab):
    """The vocabulary is what occurs."""
    rows = F.one_hot(ids).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).to(rows.dtype)
    return matches @ rows[..., 1:, :] / matches.sum(-1, keepdim=True).clamp(min=1)


def rank_residual(x):
    return (x - x.mean(-2, keepdim=True)).norm(dim=(-2, -1))
