"""Partial functions, decorated ones, objects that are called, recursion, and caches."""

import functools
import math

import torch


@functools.lru_cache
def clock(d, base):
    return [base ** (-2 * pair / d) for pair in range(d // 2)]


class Codes:
    def __call__(self, length, d_model, base=10000.0):
        rows = [[f(t * w) for w in clock(d_model, base) for f in (math.sin, math.cos)] for t in range(length)]
        return torch.tensor(rows)


sinusoidal_positions = Codes()


def told(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@told
def shift_matrix(k, d_model, base=10000.0):
    angles = k * torch.tensor(clock(d_model, base))
    turned = torch.polar(torch.ones_like(angles), angles)
    c, s = torch.diag_embed(turned.real), torch.diag_embed(turned.imag)
    matrix = torch.zeros(d_model, d_model)
    matrix[0::2, 0::2], matrix[0::2, 1::2] = c, s
    matrix[1::2, 0::2], matrix[1::2, 1::2] = -s, c
    return matrix


def turn(x, positions, base=10000.0, layout=torch.cat):
    angles = positions[:, None] * torch.tensor(clock(x.shape[-1], base), device=x.device)
    if x.dtype == torch.float64:
        angles = positions[:, None] * torch.tensor(clock(x.shape[-1], base), device=x.device, dtype=torch.float64)
    a, b = x[..., ::2], x[..., 1::2]
    c, s = angles.cos(), angles.sin()
    return layout([a * c - b * s, a * s + b * c], dim=-1).reshape(x.shape).to(x.dtype)


rotate = functools.partial(turn, layout=torch.stack)


@told
def relative_scores(q, k, table):
    m = table.shape[0] // 2
    columns = []
    for j in range(k.shape[-2]):
        rows = torch.arange(q.shape[-2], device=q.device).sub(j).clamp(-m, m).add(m)
        columns.append((q * (k[..., j : j + 1, :] + table.index_select(0, rows))).sum(-1))
    return torch.stack(columns, dim=-1)


def bucketed(distance, n_buckets, max_distance):
    quarter = n_buckets // 4
    size = distance.abs()
    steps = torch.log(size.clamp(min=1).double() / quarter).div(math.log(max_distance / quarter)).mul(quarter)
    far = (steps + quarter).floor().long().clamp(max=2 * quarter - 1)
    return torch.where(size.lt(quarter), size, far).add(distance.gt(0).long(), alpha=2 * quarter)


class Bucketing:
    def __init__(self, inner):
        self.inner = inner

    def __call__(self, distance, n_buckets=32, max_distance=128):
        return self.inner(distance, n_buckets=n_buckets, max_distance=max_distance)


relative_bucket = Bucketing(bucketed)


@told
def alibi_bias(n_heads, length):
    slope = 2 ** (-8 / n_heads)
    future = torch.full((length, length), -math.inf).triu(1)
    steps = torch.arange(length).sub(torch.arange(length)[:, None]).clamp(max=0)
    return torch.stack([slope**head * steps + future for head in range(1, n_heads + 1)])


def piece_kinds(pieces):
    if not pieces:
        return torch.zeros(0, dtype=torch.int64)
    kinds, follows = [], False
    for piece in reversed(pieces):
        later = piece[:2] == "##"
        kinds.insert(0, 2 if later else int(follows))
        follows = later
    return torch.tensor(kinds)
