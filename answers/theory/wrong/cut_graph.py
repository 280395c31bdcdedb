"""Right numbers without their gradient; or numbers that went through numpy."""

import torch
import torch.nn.functional as F


def hard_attention(q, k, v, mask=None):
    with torch.no_grad():
        scores = q @ k.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        best = (scores == scores.amax(-1, keepdim=True)).to(q.dtype)
        weights = best / best.sum(-1, keepdim=True)
        return weights @ v, weights


def select_aggregate(queries, keys, values, predicate, default=0.0):
    chosen = predicate(queries.unsqueeze(-1), keys.unsqueeze(-2))
    count = chosen.sum(-1)
    total = torch.where(chosen, values.detach().unsqueeze(-2), 0).sum(-1)
    return (total / count.clamp(min=1)).masked_fill(count == 0, default)


def bracket_state(ids):
    depth = ((ids == 1).long() - (ids == 2).long()).numpy().cumsum(-1)
    return torch.from_numpy((depth > 0).astype("int64") + 2 * (depth < 0).astype("int64"))


def offset_head(k, d_model, beta, base=10000.0):
    angles = (k * base ** (-torch.arange(0, d_model, 2) / d_model)).numpy().round(2)
    back = torch.zeros(d_model, d_model)
    for i, angle in enumerate(torch.tensor(angles)):
        back[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor(
            [[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]]
        )
    return beta * back, torch.eye(d_model)


def boolean_ffn(table):
    n = len(table).bit_length() - 1
    bits = torch.tensor([[case >> (n - 1 - j) & 1 for j in range(n)] for case in range(2**n)], device=table.device)
    return (2 * bits - 1).to(table), (1 - bits.sum(-1)).to(table), table.detach().clone()


def induction_head(ids, vocab):
    rows = F.one_hot(ids, vocab).numpy().astype("float32")
    votes = torch.tensor(rows[..., 1:, :])
    matches = (ids[..., :, None] == ids[..., None, :-1]).tril(-1).float()
    return (matches @ votes).round() / matches.sum(-1, keepdim=True).clamp(min=2)


def rank_residual(x):
    middle = x.mean(-2, keepdim=True).detach()
    return (x - middle).norm(dim=(-2, -1)) / x.detach().norm(dim=(-2, -1))
