"""torch's own functions wherever they fit, einsum, other algebra; weights in other forms."""

import torch
import torch.nn.functional as F
from torch.nn.functional import one_hot


def hard_attention(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k) / q.shape[-1] ** 0.5  # dividing changes no order
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    top = scores.max(dim=-1, keepdim=True).values
    gap = torch.where(scores < top, -torch.inf, 0.0).to(q.dtype)
    weights = F.softmax(gap, dim=-1)
    return torch.einsum("...qk,...kv->...qv", weights, v), weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries[..., :, None], keys[..., None, :])
    none = ~chosen.any(-1)
    weights = chosen.to(values.dtype)
    weights = weights / torch.where(none, torch.ones_like(weights[..., 0]), weights.sum(-1)).unsqueeze(-1)
    means = (weights @ values.unsqueeze(-1)).squeeze(-1)
    return torch.where(none, torch.full_like(means, default), means)


def bracket_state(ids):
    depth = torch.cumsum(torch.where(ids == 1, 1, 0) - torch.where(ids == 2, 1, 0), dim=-1)
    lost = torch.cummax((depth < 0).long(), dim=-1).values
    return torch.maximum(depth.sign(), 2 * lost).clamp(min=0)


def offset_head(k, d_model, beta, base=10000.0):
    """The keys are moved on, the queries stay; the root of beta is in both."""
    angles = k * torch.pow(torch.tensor(base), -torch.arange(d_model // 2) * 2 / d_model)
    cos = torch.repeat_interleave(angles.cos(), 2)
    sin = angles.sin()
    on = torch.diag(cos)
    even = torch.arange(0, d_model, 2)
    on[even, even + 1] = sin
    on[even + 1, even] = -sin
    return beta**0.5 * torch.eye(d_model), beta**0.5 * on


def boolean_ffn(table):
    """Sums and differences of the table: a unit for each set of inputs, which fires where all of them are 1."""
    n = len(table).bit_length() - 1
    sets = torch.cartesian_prod(*[torch.arange(2, device=table.device)] * n).reshape(len(table), n)
    down = table.reshape([2] * n)
    for axis in range(n):
        low, high = down.unbind(axis)
        down = torch.stack([low, high - low], axis)
    return sets.to(table.dtype), (1 - sets.sum(-1)).to(table.dtype), down.flatten()


def induction_head(ids, vocab):
    rows = one_hot(ids, vocab).to(torch.get_default_dtype())
    same = torch.einsum("...tv,...uv->...tu", rows, rows).tril(-1)
    followed = torch.einsum("...tu,...uv->...tv", same[..., :-1], rows[..., 1:, :])
    return followed / followed.sum(-1, keepdim=True).clamp(min=1)


def rank_residual(x):
    rest = x - torch.mean(x, dim=-2, keepdim=True)
    return torch.linalg.vector_norm(rest, dim=(-2, -1)) / torch.linalg.vector_norm(x, dim=(-2, -1))
