"""A softmax, or something else that is soft, where the answer is exact."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.softmax(1000 * scores, dim=-1)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2)).to(values.dtype)
    weights = chosen.softmax(-1)
    means = (weights @ values.unsqueeze(-1)).squeeze(-1)
    return torch.where(chosen.sum(-1) == 0, torch.full_like(means, default), means)


def bracket_state(ids):
    """The sign of the depth, as it was at its lowest."""
    depth = ((ids == 1).long() - (ids == 2).long()).cumsum(-1)
    return torch.where(depth.cummin(-1).values < 0, -1, depth.sign())


def offset_head(k, d_model, beta, base=10000.0):
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta * d_model**0.5 * back, torch.eye(d_model)


def boolean_ffn(table):
    """Half is left above the threshold."""
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), (0.5 - bits.sum(-1)).to(table.dtype), table.clone()


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).to(torch.get_default_dtype())
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).to(rows.dtype)
    return (matches @ rows[..., 1:, :]).softmax(-1)


def rank_residual(x):
    return torch.linalg.matrix_norm(x - x.mean(-2, keepdim=True), 2) / torch.linalg.matrix_norm(x, 2)
