"""Made for one batch dimension, or for none."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = torch.bmm(q, k.transpose(1, 2))
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    best = (scores == scores.amax(2, keepdim=True)).to(q.dtype)
    weights = best / best.sum(2, keepdim=True)
    return torch.bmm(weights, v), weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries[:, :, None], keys[:, None, :])
    count = chosen.sum(2)
    total = torch.where(chosen, values[:, None, :], 0).sum(2)
    return (total / count.clamp(min=1)).masked_fill(count == 0, default)


def bracket_state(ids):
    batch, seq = ids.shape
    depth = torch.zeros(batch, dtype=torch.int64, device=ids.device)
    lost = depth.bool()
    states = []
    for t in range(seq):
        depth = depth + (ids[:, t] == 1).long() - (ids[:, t] == 2).long()
        lost = lost | (depth < 0)
        states.append(torch.where(lost, 2, (depth > 0).long()))
    return torch.stack(states, 1)


def offset_head(k, d_model, beta, base=10000.0):
    """Made for one width: four pairs."""
    angles = k * base ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)
    cos, sin = angles.cos(), angles.sin()
    return beta * torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).float(), torch.eye(8)


def boolean_ffn(table):
    """Made for three inputs."""
    case = torch.arange(len(table), device=table.device)
    bits = (case[:, None] >> torch.tensor([2, 1, 0], device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), (1 - bits.sum(-1)).to(table.dtype), table.clone()


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[:, :, None] == ids[:, None, :-1]).tril(-1).to(rows.dtype)
    return torch.bmm(matches, rows[:, 1:]) / matches.sum(2, keepdim=True).clamp(min=1)


def rank_residual(x):
    rest = x - x.mean(1, keepdim=True)
    return rest.flatten(1).norm(dim=1) / x.flatten(1).norm(dim=1)
