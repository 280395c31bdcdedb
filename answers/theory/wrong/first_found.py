"""One of several, where all should count."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    scores = q @ k.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = F.one_hot(scores.argmax(-1), scores.shape[-1]).to(q.dtype)
    return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    place = chosen.int().argmax(-1)
    found = torch.gather(values, -1, place)
    return torch.where(chosen.any(-1), found, torch.full_like(found, default))


def bracket_state(ids):
    """Open after an opening bracket, balanced after anything else."""
    return torch.where(ids == 1, 1, 0)


def offset_head(k, d_model, beta, base=10000.0):
    angles = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    cos, sin = angles.cos(), angles.sin()
    back = torch.block_diag(*torch.stack([cos, -sin, sin, cos], -1).view(-1, 2, 2)).to(torch.get_default_dtype())
    return beta * back, torch.eye(d_model)


def boolean_ffn(table):
    """Any input that is not 0 is a yes."""
    n = len(table).bit_length() - 1
    case = torch.arange(2**n, device=table.device)
    bits = (case[:, None] >> torch.arange(n - 1, -1, -1, device=table.device)) & 1
    return (2 * bits - 1).to(table.dtype), (1 - bits.sum(-1)).to(table.dtype), table.ne(0).to(table.dtype)


def induction_head(ids, vocab):
    flat = ids.reshape(-1, ids.shape[-1])
    result = torch.zeros(*flat.shape, vocab, device=ids.device)
    for b, text in enumerate(flat.tolist()):
        last = {}
        for t, token in enumerate(text):
            if t:
                last[text[t - 1]] = token
            if token in last:
                result[b, t, last[token]] = 1.0
    return result.reshape(*ids.shape, vocab)


def rank_residual(x):
    return (x - x[..., :1, :]).norm(dim=(-2, -1)) / x.norm(dim=(-2, -1))
