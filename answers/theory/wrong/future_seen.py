"""What is hidden or still to come is used."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    best = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
    weights = best / best.sum(-1, keepdim=True)
    if mask is not None:
        weights = weights * mask.to(q.dtype)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    means = torch.where(chosen, values.unsqueeze(-2), default).mean(-1)
    return means


def bracket_state(ids):
    depth = ((ids == 1).long() - (ids == 2).long()).cumsum(-1)
    lost = depth.min(-1, keepdim=True).values < 0
    return torch.where(lost, 2, (depth > 0).long())


def offset_head(k, d_model, beta, base=10000.0):
    """Queries back and keys on."""
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta * back, back.T.contiguous()


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), torch.full_like(table, 1 - n), table.clone()


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).to(rows.dtype)
    return matches @ rows[..., 1:, :] / matches.sum(-1, keepdim=True).clamp(min=1)


def rank_residual(x):
    """One mean and one length for the whole batch."""
    return (x - x.mean(-2, keepdim=True)).norm() / x.norm()
