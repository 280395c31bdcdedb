"""Computes in another precision than what comes in, and gives back what came."""

import torch


def hard_attention(q, k, v, mask=None):
    scores = q.float() @ k.float().transpose(-1, -2)
    lowest = torch.finfo(torch.float32).min
    if mask is not None:
        scores = scores.masked_fill(torch.logical_not(mask), lowest)
    order = scores.sort(dim=-1, descending=True).values
    best = (scores == order[..., :1]).float()
    if mask is not None:
        best = best * mask
    weights = best / best.sum(-1, keepdim=True)
    return (weights @ v.float()).to(v.dtype), weights.to(v.dtype)


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2)).double()
    count = chosen.sum(-1)
    total = torch.einsum("...qk,...k->...q", chosen, values.double())
    empty = (count == 0).double()
    return (total / (count + empty) + default * empty).to(values.dtype)


def bracket_state(ids):
    signs = (ids == 1).to(torch.float32) - (ids == 2).to(torch.float32)
    n = ids.shape[-1]
    triangle = torch.ones(n, n, device=ids.device).tril()
    depth = (triangle * signs.unsqueeze(-2)).sum(-1)  # what each token sees of those before
    below = (depth < 0).float()
    lost = (triangle * below.unsqueeze(-2)).sum(-1) > 0
    return torch.where(lost, torch.full_like(ids, 2), (depth > 0).to(torch.int64))


def offset_head(k, d_model, beta, base=10000.0):
    """In float64, by solving for the matrix from a few codes; any orthogonal matrix may stand in both."""
    frequencies = torch.tensor([base ** (-2 * i / d_model) for i in range(d_model // 2)], dtype=torch.float64)

    def code(t):
        return torch.stack([(t * frequencies).sin(), (t * frequencies).cos()], -1).flatten()

    def pairs(t):
        return code(t).view(-1, 2)

    a, b = torch.stack([pairs(0), pairs(1)], -1), torch.stack([pairs(-k), pairs(1 - k)], -1)
    # the codes of 0 and 1 are not multiples of each other, however slow a pair is
    blocks = torch.linalg.solve(a.mT, b.mT).mT
    turn = torch.linalg.qr(torch.arange(d_model * d_model).double().reshape(d_model, d_model).cos()).Q
    w_q = beta * turn @ torch.block_diag(*blocks)
    return w_q.to(torch.get_default_dtype()), turn.to(torch.get_default_dtype())


def boolean_ffn(table):
    cases = table.shape[0]
    n = cases.bit_length() - 1
    numbers = torch.arange(cases, device=table.device)
    up = torch.stack([((numbers // 2 ** (n - 1 - j)) % 2) for j in range(n)], dim=-1).float()
    up = torch.where(up == 1, 3.0, -5.0)
    bias = 1 - up.clamp(min=0).sum(-1)
    return up.to(table.dtype), bias.to(table.dtype), table.float().to(table.dtype)


def induction_head(ids, vocab):
    flat = ids.reshape(-1, ids.shape[-1])
    counts = torch.zeros(len(flat), vocab, vocab, dtype=torch.float64, device=ids.device)
    rows, here = [], torch.arange(len(flat), device=ids.device)
    for t in range(flat.shape[1]):
        if t:
            counts[here, flat[:, t - 1], flat[:, t]] += 1
        seen = counts[here, flat[:, t]]
        rows.append(seen / seen.sum(-1, keepdim=True).clamp(min=1))
    return torch.stack(rows, 1).reshape(*ids.shape, vocab).to(torch.float32)


def rank_residual(x):
    y = x.double()
    total = y.square().sum((-1, -2))
    of_mean = y.mean(-2).square().sum(-1) * x.shape[-2]
    return ((total - of_mean).clamp(min=0) / total).sqrt().to(x.dtype)
