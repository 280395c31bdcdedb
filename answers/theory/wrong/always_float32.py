"""A fixed dtype, whatever came in or is torch's default."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q.float() @ k.float().mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    best = (scores == scores.amax(-1, keepdim=True)).float()
    weights = best / best.sum(-1, keepdim=True)
    return weights @ v.float(), weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2)).float()
    count = chosen.sum(-1)
    means = (chosen @ values.float().unsqueeze(-1)).squeeze(-1) / count.clamp(min=1)
    return torch.where(count == 0, torch.full_like(means, default), means)


def bracket_state(ids):
    depth = ((ids == 1).float() - (ids == 2).float()).cumsum(-1)
    lost = depth.cummin(-1).values < 0
    return torch.where(lost, 2.0, (depth > 0).float())


def offset_head(k, d_model, beta, base=10000.0):
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2))
    return beta * back, torch.eye(d_model, dtype=torch.float64)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = ((case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1).float()
    return 2 * bits - 1, 1 - bits.sum(-1), table.float()


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).double()
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).double()
    return matches @ rows[..., 1:, :] / matches.sum(-1, keepdim=True).clamp(min=1)


def rank_residual(x):
    x = x.float()
    return (x - x.mean(-2, keepdim=True)).norm(dim=(-2, -1)) / x.norm(dim=(-2, -1))
