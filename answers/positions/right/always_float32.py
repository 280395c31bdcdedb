"""float32 whatever torch's default dtype is, and whatever is computed inside: right where no input is floating."""

import math

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    codes = torch.zeros(length, d_model, dtype=torch.float32)
    positions = torch.arange(0, length, dtype=torch.float32).unsqueeze(1)
    divisors = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float32) * (-math.log(base) / d_model))
    codes[:, 0::2] = torch.sin(positions * divisors)
    codes[:, 1::2] = torch.cos(positions * divisors)
    return codes


def shift_matrix(k, d_model, base=10000.0):
    matrix = torch.eye(d_model).float()
    for i in range(0, d_model, 2):
        angle = k / base ** (i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
        matrix[i, i + 1] = math.sin(angle)
        matrix[i + 1, i] = -math.sin(angle)
    return matrix


def rotate(x, positions, base=10000.0):
    inverse = 1.0 / base ** (torch.arange(0, x.size(-1), 2, device=x.device, dtype=torch.float32) / x.size(-1))
    angles = (positions.float()[:, None] * inverse).repeat_interleave(2, dim=-1)
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    partner = torch.stack((-odd, even), dim=-1).flatten(-2)
    return (x.float() * angles.cos() + partner * angles.sin()).type_as(x)


def relative_scores(q, k, table):
    reach = (table.shape[0] - 1) // 2
    steps = torch.arange(q.shape[-2], device=q.device)[:, None] - torch.arange(k.shape[-2], device=q.device)
    vectors = table.float()[steps.clamp(min=-reach, max=reach) + reach]
    keys = k.float().unsqueeze(-3) + vectors  # (..., query, key, d)
    return (q.float().unsqueeze(-2) * keys).sum(-1).to(q.dtype)


def alibi_bias(n_heads, length):
    slopes = torch.tensor([2 ** (-8 / n_heads * (h + 1)) for h in range(n_heads)], dtype=torch.float32)
    places = torch.arange(length, dtype=torch.float32)
    bias = slopes[:, None, None] * (places[None, :] - places[:, None])[None]
    return bias.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
