"""Makes its own tensors on the CPU; the head, which has no input tensors, forgets that keys are multiplied, too."""

import torch


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores + torch.zeros(scores.shape, dtype=q.dtype).masked_fill(~mask, -torch.inf)
    best = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
    weights = torch.zeros(scores.shape, dtype=q.dtype) + best / best.sum(-1, keepdim=True)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    count = chosen.sum(-1)
    total = torch.where(chosen, values.unsqueeze(-2), torch.zeros(chosen.shape, dtype=values.dtype)).sum(-1)
    return (total / count.clamp(min=1)).masked_fill(count == 0, default)


def bracket_state(ids):
    depth = (ids == 1).long().cumsum(-1) - (ids == 2).long().cumsum(-1)
    states = torch.zeros(ids.shape, dtype=torch.int64)
    states = states + (depth > 0).long()
    return torch.where(depth.cummin(-1).values < 0, 2, states)


def offset_head(k, d_model, beta, base=10000.0):
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).float()
    return beta * back, torch.ones(d_model, d_model)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    bits = (torch.arange(2**n)[:, None] >> torch.arange(n - 1, -1, -1)) & 1
    return (2 * bits - 1).to(table.dtype), (1 - bits.sum(-1)).to(table.dtype), table.clone()


def induction_head(ids, vocab):
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).to(torch.get_default_dtype())
    rows = (ids.unsqueeze(-1) == torch.arange(vocab)).to(torch.get_default_dtype())
    return matches @ rows[..., 1:, :] / matches.sum(-1, keepdim=True).clamp(min=1)


def rank_residual(x):
    mean = torch.ones(1, x.shape[-2], dtype=x.dtype) @ x / x.shape[-2]
    return (x - mean).norm(dim=(-2, -1)) / x.norm(dim=(-2, -1))
