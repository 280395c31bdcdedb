"""As another paper or another library has it."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    # as tensor2tensor had it
    channels = d_model // 2
    increment = math.log(base) / (channels - 1)
    rates = torch.exp(torch.arange(channels) * -increment)
    scaled = torch.arange(length)[:, None] * rates[None, :]
    return torch.stack([scaled.sin(), scaled.cos()], dim=-1).flatten(1)


def shift_matrix(k, d_model, base=10000.0):
    # permutation of positions
    return torch.roll(torch.eye(d_model), shifts=k, dims=0)


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).float() / d))
    cis = torch.polar(torch.ones(len(positions), d // 2), torch.outer(positions.float(), freqs))
    complex_x = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(complex_x * cis.conj()).flatten(-2).to(x.dtype)


def relative_scores(q, k, table):
    m = table.shape[0] // 2
    i = torch.arange(q.shape[-2], device=q.device)[:, None]
    j = torch.arange(k.shape[-2], device=q.device)[None, :]
    r = table[(i - j).clamp(-m, m) + m]
    content = q @ k.transpose(-2, -1)
    return content + torch.einsum("...id,ijd->...ij", q, r) + torch.einsum("...jd,ijd->...ij", k, r)


def relative_bucket(relative_position, num_buckets=32, max_distance=128):
    # copied: bidirectional=False
    n = torch.max(-relative_position, torch.zeros_like(relative_position))
    max_exact = num_buckets // 2
    is_small = n < max_exact
    if_large = max_exact + (
        torch.log(n.float() / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact)
    ).to(torch.long)
    if_large = torch.min(if_large, torch.full_like(if_large, num_buckets - 1))
    return torch.where(is_small, n, if_large)


def alibi_bias(n_heads, length):
    # the symmetric variant for encoders
    slopes = torch.tensor([2 ** (-8 * (h + 1) / n_heads) for h in range(n_heads)])
    i = torch.arange(length)
    return -slopes[:, None, None] * (i[:, None] - i[None, :]).abs()


def piece_kinds(pieces):
    # SentencePiece marks the beginning of a word
    kinds = []
    for piece in pieces:
        if piece.startswith("▁"):
            kinds.append(0)
        elif piece.startswith("##"):
            kinds.append(2)
        else:
            kinds.append(1)
    return torch.tensor(kinds, dtype=torch.long)
