"""Nearly, once more."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    """By cosines."""
    scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    best = (scores >= scores.amax(-1, keepdim=True) - 1e-6).to(q.dtype)
    weights = best / best.sum(-1, keepdim=True)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    """Sums of several, or the default where the mean happens to be 0."""
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    means = torch.where(chosen, values.unsqueeze(-2), 0).sum(-1) / chosen.sum(-1).clamp(min=1)
    return torch.where(means == 0, torch.full_like(means, default), means)


def bracket_state(ids):
    """Counts both kinds, and asks at the end only."""
    opened, closed = (ids == 1).sum(-1, keepdim=True), (ids == 2).sum(-1, keepdim=True)
    state = torch.where(closed > opened, 2, (opened > closed).long())
    return state.expand(ids.shape).contiguous()


def offset_head(k, d_model, beta, base=10000.0):
    """Ones beside the diagonal."""
    w_q = torch.zeros(d_model, d_model)
    for i in range(d_model):
        w_q[(i + k) % d_model, i] = beta
    return w_q, torch.eye(d_model)


def boolean_ffn(table):
    """The answers before the relu."""
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (2 * bits - 1) * table[:, None], (1 - bits.sum(-1)) * table, torch.ones_like(table)


def induction_head(ids, vocab):
    """Where nothing is found, anything may come."""
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).to(rows.dtype)
    count = matches.sum(-1, keepdim=True)
    return torch.where(count == 0, 1 / vocab, matches @ rows[..., 1:, :] / count.clamp(min=1))


def rank_residual(x):
    """By standard deviations, which divide by one less."""
    return (x.var(-2).sum(-1) / x.square().mean(-2).sum(-1)).sqrt()
