"""By sorting, by numbers of ranks, by Gram matrices, by complex numbers, by prefix sums of one-hots."""

import itertools
from typing import NamedTuple

import torch


class Found(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


def hard_attention(q, k, v, mask=None):
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1)
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    beaten = ((scores.unsqueeze(-1) < scores.unsqueeze(-2)) & mask.expand(scores.shape).unsqueeze(-2)).any(-1)
    best = mask & ~beaten
    weights = best.to(v.dtype) / best.sum(-1, keepdim=True).to(v.dtype)
    return Found((weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(-2), weights)


def select_aggregate(queries, keys, values, predicate, default=0.0):
    n = keys.shape[-1]
    wide = (*queries.shape, n)
    chosen = predicate(queries.unsqueeze(-1).expand(wide), keys.unsqueeze(-2).expand(wide))
    total, count = torch.zeros_like(queries, dtype=values.dtype), torch.zeros_like(queries, dtype=values.dtype)
    for j in range(n):
        total = total + torch.where(chosen[..., j], values[..., j : j + 1], torch.zeros_like(values[..., :1]))
        count = count + chosen[..., j].to(values.dtype)
    return torch.where(count > 0, total / torch.where(count > 0, count, torch.ones_like(count)), default).to(
        values.dtype
    )


def bracket_state(ids):
    """State by state: how many are open and whether all is lost are carried along."""
    depth = torch.zeros_like(ids[..., 0])
    lost = torch.zeros_like(depth, dtype=torch.bool)
    states = []
    for token in ids.unbind(-1):
        depth = depth + token.eq(1).long() - token.eq(2).long()
        lost = lost.logical_or(depth.lt(0))
        states.append(torch.where(lost, 2, depth.clamp(0, 1)))
    return torch.stack(states, -1)


def offset_head(k, d_model, beta, base=10000.0):
    """(sin, cos) is a complex number; moving is multiplying. The queries are turned half way back, the keys half on."""
    frequencies = base ** (-torch.arange(0, d_model, 2).double() / d_model)
    turn = torch.polar(torch.ones_like(frequencies), -k * frequencies / 2)

    def matrix(z):
        # sin' = sin·re + cos·im, cos' = cos·re - sin·im
        rows = torch.zeros(d_model, d_model, dtype=torch.float64)
        i = torch.arange(0, d_model, 2)
        rows[i, i] = rows[i + 1, i + 1] = z.real
        rows[i, i + 1], rows[i + 1, i] = z.imag, -z.imag
        return rows.to(torch.get_default_dtype())

    return [3 * matrix(turn), beta / 3 * matrix(turn.conj())]


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    corners = torch.tensor(list(itertools.product([0, 1], repeat=n)), dtype=table.dtype, device=table.device)
    up = corners - (1 - corners) * n
    order = torch.arange(len(table) - 1, -1, -1, device=table.device)  # units in another order
    return up[order], (1 - corners.sum(-1))[order], table[order]


def induction_head(ids, vocab):
    table = torch.eye(vocab, dtype=torch.get_default_dtype(), device=ids.device)
    rows = table[ids]
    pairs = torch.zeros(*ids.shape, vocab, vocab, dtype=rows.dtype, device=ids.device)
    pairs[..., 1:, :, :] = (rows[..., :-1, :, None] * rows[..., 1:, None, :]).cumsum(-3)
    seen = (pairs * rows.unsqueeze(-1)).sum(-2)
    total = seen.sum(-1, keepdim=True)
    return seen / torch.where(total > 0, total, torch.ones_like(total))


def rank_residual(x):
    n = x.shape[-2]
    centring = torch.eye(n, dtype=x.dtype, device=x.device) - 1 / n
    rest = centring @ (x - x[..., :1, :])
    return (rest * rest).sum((-1, -2)).sqrt() / (x * x).sum((-1, -2)).sqrt()
