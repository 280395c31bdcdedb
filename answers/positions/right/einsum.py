"""Everything by einsum and outer products."""

import math
from itertools import pairwise

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    i = torch.arange(d_model // 2)
    angles = torch.outer(torch.arange(length).to(torch.get_default_dtype()), base ** (-2 * i / d_model))
    out = torch.zeros(length, d_model)
    out[:, 0::2] = torch.sin(angles)
    out[:, 1::2] = torch.cos(angles)
    return out


def shift_matrix(k, d_model, base=10000.0):
    out = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        angle = k / base ** (2 * i / d_model)
        c, s = math.cos(angle), math.sin(angle)
        out[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [-s, c]])
    return out


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    theta = torch.einsum("s,i->si", positions.float(), base ** (-torch.arange(0, d, 2, device=x.device).float() / d))
    c, s = theta.cos(), theta.sin()
    turn = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)  # (seq, d/2, 2, 2)
    pairs = x.unflatten(-1, (-1, 2)).to(torch.promote_types(x.dtype, torch.float32))
    return torch.einsum("sirc,...sic->...sir", turn.to(pairs.dtype), pairs).flatten(-2).to(x.dtype)


def relative_scores(q, k, table):
    m = (table.size(0) - 1) // 2
    i = torch.arange(q.size(-2), device=q.device).view(-1, 1)
    j = torch.arange(k.size(-2), device=q.device).view(1, -1)
    r = table[torch.clamp(i - j + m, 0, 2 * m)]
    return torch.einsum("...id,...jd->...ij", q, k) + torch.einsum("...id,ijd->...ij", q, r)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    bucket = torch.where(distance > 0, half, 0)
    n = distance.abs()
    exact = half // 2
    far = exact + (torch.log(n.float() / exact) / math.log(max_distance / exact) * (half - exact)).long()
    return bucket + torch.where(n < exact, n, torch.minimum(far, torch.full_like(far, half - 1)))


def alibi_bias(n_heads, length):
    slopes = torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])
    i = torch.arange(length)
    out = torch.einsum("h,qk->hqk", slopes, (i[None, :] - i[:, None]).to(slopes.dtype))
    return out + torch.full((length, length), -math.inf).triu(1)


def piece_kinds(pieces):
    later = [p[:2] == "##" for p in pieces] + [False]
    return torch.tensor([2 if a else 1 if b else 0 for a, b in pairwise(later)], dtype=torch.long)
