"""All sines first and all cosines after them, halves in place of pairs."""

import torch


def sinusoidal_positions(length, d_model, base=10000.0):
    inv_freq = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(length)[:, None] * inv_freq[None, :]
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)


def shift_matrix(k, d_model, base=10000.0):
    angles = k * base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    c, s = torch.diag(angles.cos()), torch.diag(angles.sin())
    top = torch.cat([c, s], dim=1)
    bottom = torch.cat([-s, c], dim=1)
    return torch.cat([top, bottom], dim=0).float()


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def rotate(x, positions, base=10000.0):
    d = x.shape[-1]
    inv_freq = 1.0 / base ** (torch.arange(0, d, 2, device=x.device) / d)
    freqs = positions[:, None] * inv_freq
    emb = torch.repeat_interleave(freqs, 2, dim=-1)
    return x * emb.cos() + rotate_half(x) * emb.sin()


def relative_scores(q, k, table):
    m = (len(table) - 1) // 2
    i = torch.arange(q.shape[-2], device=q.device).unsqueeze(1)
    j = torch.arange(k.shape[-2], device=q.device).unsqueeze(0)
    r = table[(i - j).clamp(-m, m) + m]
    return q @ k.transpose(-2, -1) + torch.einsum("...jd,ijd->...ij", k, r)


def relative_bucket(distance, n_buckets=32, max_distance=128):
    side = n_buckets // 2
    near = side // 2
    magnitude = distance.abs()
    scaled = torch.log(magnitude.clamp(min=near).double() / near) / torch.log(torch.tensor(max_distance / near))
    far = near + (scaled * near).floor().long()
    bucket = torch.where(magnitude < near, magnitude, far.clamp(max=side - 1))
    return 2 * bucket + (distance > 0).long()


def alibi_bias(n_heads, length):
    head = torch.arange(1, n_heads + 1)
    slope = torch.pow(2.0, -8.0 * head / n_heads)
    row = torch.arange(length)
    distance = row.view(-1, 1) - row.view(1, -1)
    bias = -(distance.unsqueeze(-1) * slope)
    return bias.masked_fill((distance < 0).unsqueeze(-1), float("-inf"))


def piece_kinds(pieces):
    whole = torch.tensor([not p.startswith("##") for p in pieces])
    later = ~whole
    return later.long() * 2
