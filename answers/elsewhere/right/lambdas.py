"""Lambdas, objects that can be called, decorated functions, named tuples, extra defaults."""

import functools
from typing import NamedTuple

import torch


class Words:
    def __init__(self, alphabet=4):
        self.size = alphabet

    def __call__(self, ids, k, canonical=False):
        n = max(0, ids.size(-1) - k + 1)
        columns = [ids[..., i : i + n] for i in range(k)]
        here = functools.reduce(lambda number, base: number * self.size + base, columns)
        there = functools.reduce(
            lambda number, base: number * self.size + base, [3 - base for base in reversed(columns)]
        )
        unknown = functools.reduce(torch.logical_or, [column > 3 for column in columns])
        return torch.where(unknown, self.size**k, torch.minimum(here, there) if canonical else here)


kmer_ids = Words()


class Strands(NamedTuple):
    forward: torch.Tensor
    backward: torch.Tensor


def noted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        inner.calls += 1
        return function(*args, **kwargs)

    inner.calls = 0
    return inner


@noted
def motif_scores(ids, pwm, unknown=0.0):
    n = max(0, ids.size(-1) - pwm.size(0) + 1)
    table = torch.cat([pwm, torch.full_like(pwm[:, :1], unknown)], 1)
    turned = torch.cat([pwm.flip([0, 1]), torch.full_like(pwm[:, :1], unknown)], 1)
    return Strands(*(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned)))


patch_series = lambda x, patch: x[..., x.shape[-1] % patch :].reshape(*x.shape[:-1], x.shape[-1] // patch, patch)  # noqa: E731


class Split(NamedTuple):
    train: torch.Tensor
    test: torch.Tensor


def time_split(length, context, horizon, cut):
    starts = range(max(length - context - horizon + 1, 0))
    sides = (lambda s: s + context + horizon - 1 < cut), (lambda s: s + context >= cut)
    return Split(*(torch.tensor([s for s in starts if side(s)]).long() for side in sides))


class ZScore:
    def __call__(self, x, eps=1e-5, *, dim=-1):
        return torch.stack([self.last(part, eps) for part in self.growing(x, dim)], dim)

    def growing(self, x, dim):
        return (x.narrow(dim, 0, t) for t in range(1, x.size(dim) + 1))

    def last(self, part, eps):
        variance, mean = torch.var_mean(part, -1, correction=0)
        return (part[..., -1] - mean) * torch.rsqrt(variance + eps)


running_zscore = ZScore()

scaled_error = lambda f, a, h, season=1: (f - a).abs().mean(-1) / (h[..., season:] - h[..., :-season]).abs().mean(-1)  # noqa: E731


@noted
def retrieval_recall(scores, k):
    def one_way(table):
        return ((table >= table.diag().unsqueeze(1)).sum(1) <= k).to(table.dtype).mean()  # own is one of them

    return tuple(map(one_way, (scores, scores.mT)))
