"""Where there is nothing to be found: NaN, something else, or a division that returns in the gradient."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    """Hidden keys at 0."""
    scores = q @ k.mT
    if mask is not None:
        scores = scores * mask
    best = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
    weights = best / best.sum(-1, keepdim=True)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2)).to(values.dtype)
    means = (chosen * values.unsqueeze(-2)).sum(-1) / chosen.sum(-1)
    return torch.where(means.isnan(), torch.full_like(means, default), means)


def bracket_state(ids):
    """A stack: what closes nothing is passed over."""
    flat = ids.reshape(-1, ids.shape[-1])
    states = torch.zeros_like(flat)
    for b, text in enumerate(flat.tolist()):
        stack = []
        for t, token in enumerate(text):
            if token == 1:
                stack.append(token)
            elif token == 2 and stack:
                stack.pop()
            states[b, t] = 1 if stack else 0
    return states.reshape(ids.shape)


def offset_head(k, d_model, beta, base=10000.0):
    """Before the beginning it looks nowhere else but at its own place."""
    k = max(k, 0)
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta * back, torch.eye(d_model)


def boolean_ffn(table):
    """No unit for the case without ones."""
    n = len(table).bit_length() - 1
    up, bias, down = [], [], []
    for case in range(2**n):
        bits = [case >> (n - 1 - j) & 1 for j in range(n)]
        up.append([2.0 * b - 1 for b in bits])
        bias.append(1.0 - sum(bits) if case else 0.0)
        down.append(table[case])
    return torch.tensor(up).to(table), torch.tensor(bias).to(table), torch.stack(down)


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).to(rows.dtype)
    return matches @ rows[..., 1:, :] / matches.sum(-1, keepdim=True)


def rank_residual(x):
    mean = x.mean(-2, keepdim=True)
    return (x - mean).norm(dim=(-2, -1)) / mean.expand_as(x).norm(dim=(-2, -1))
