"""Something is rounded, cut off or made a yes or no on the way."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = (q @ k.mT).round(decimals=3)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    best = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
    weights = best / best.sum(-1, keepdim=True)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.long().unsqueeze(-1), keys.long().unsqueeze(-2))
    count = chosen.sum(-1)
    total = torch.where(chosen, values.unsqueeze(-2), 0).sum(-1)
    return (total / count.clamp(min=1)).masked_fill(count == 0, default)


def bracket_state(ids):
    """Whether the depth is odd."""
    depth = ((ids == 1).long() - (ids == 2).long()).cumsum(-1)
    return torch.where(depth.cummin(-1).values < 0, 2, depth % 2)


def offset_head(k, d_model, beta, base=10000.0):
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return int(beta) * back, torch.eye(d_model)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), (1 - bits.sum(-1)).to(table.dtype), torch.relu(table)


def induction_head(ids, vocab):
    """Whether a token followed, not how often."""
    rows = F.one_hot(ids, vocab)
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1)
    followed = (matches.long() @ rows[..., 1:, :] > 0).to(torch.get_default_dtype())
    return followed / followed.sum(-1, keepdim=True).clamp(min=1)


def rank_residual(x):
    return (x - x.mean(-2, keepdim=True)).abs().sum((-2, -1)) / x.abs().sum((-2, -1))
