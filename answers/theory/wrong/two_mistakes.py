"""Two mistakes at once."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    weights = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(keys.unsqueeze(-2), queries.unsqueeze(-1))
    total = torch.where(chosen, values.unsqueeze(-2), 0).sum(-1)
    return total.masked_fill(~chosen.any(-1), default)


def bracket_state(ids):
    depth = ((ids == 1).long() - (ids >= 2).long()).cumsum(-1)
    return torch.where(depth < 0, 2, (depth > 0).long())


def offset_head(k, d_model, beta, base=10000.0):
    angles = k * base ** (-torch.arange(d_model // 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    on = torch.block_diag(*torch.stack([cos, sin, -sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta * on, torch.eye(d_model)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n, device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), (0.5 - bits.sum(-1)).to(table.dtype), table.clone()


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).to(rows.dtype)
    return matches @ rows[..., 1:, :]


def rank_residual(x):
    return (x - x[..., :1, :]).square().sum((-2, -1)) / x.square().sum((-2, -1))
