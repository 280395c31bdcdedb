"""Two things have changed places."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    best = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
    weights = best / best.sum(-1, keepdim=True)
    return weights, weights @ v


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = ~predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    count = chosen.sum(-1)
    total = torch.where(chosen, values.unsqueeze(-2), 0).sum(-1)
    return (total / count.clamp(min=1)).masked_fill(count == 0, default)


def bracket_state(ids):
    depth = ((ids == 1).long() - (ids == 2).long()).cumsum(-1)
    return torch.where(depth.cummin(-1).values < 0, 2, (depth == 0).long())


def offset_head(k, d_model, beta, base=10000.0):
    """All sines first."""
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = torch.diag(angles.cos()), torch.diag(angles.sin())
    back = torch.cat([torch.cat([cos, -sin], 1), torch.cat([sin, cos], 1)], 0).to(torch.get_default_dtype())
    return beta * back, torch.eye(d_model)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (1 - 2 * bits).to(table.dtype), (1 - n + bits.sum(-1)).to(table.dtype), table.clone()


def induction_head(ids, vocab):
    """Finds the token, and says it again."""
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :]).tril(-1).to(rows.dtype)
    return matches @ rows / matches.sum(-1, keepdim=True).clamp(min=1)


def rank_residual(x):
    return 1 - (x - x.mean(-2, keepdim=True)).norm(dim=(-2, -1)) / x.norm(dim=(-2, -1))
