"""The last comes first."""

import torch


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    here = there = torch.zeros_like(ids[..., :n])
    unknown = torch.zeros_like(here, dtype=torch.bool)
    for i in range(k):
        base = ids[..., i : i + n]
        here = here + base * 4**i
        there = there * 4 + (3 - base)
        unknown = unknown | (base == 4)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    m, n = len(pwm), max(ids.shape[-1] - len(pwm) + 1, 0)
    table = torch.cat([pwm, torch.zeros_like(pwm[:, :1])], 1)
    other = torch.where(ids == 4, 4, 3 - ids)
    forward = sum(table[m - 1 - i][ids[..., i : i + n]] for i in range(m))
    backward = sum(table[i][other[..., i : i + n]] for i in range(m))
    return forward, backward


def patch_series(x, patch):
    n = x.shape[-1] // patch
    ends = [x.shape[-1] - i * patch for i in range(n)]
    return torch.stack([x[..., end - patch : end] for end in ends], -2) if n else x.new_zeros(*x.shape[:-1], 0, patch)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts[starts + context >= cut], starts[starts + context + horizon <= cut]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        rest = x[..., t:]
        found.append((x[..., t] - rest.mean(-1)) / (rest.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().mean(-1)
    return naive / (forecast - actual).abs().mean(-1)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    columns = (scores >= own).sum(0) - 1 < k
    rows = (scores >= own[:, None]).sum(1) - 1 < k
    return columns.float().mean(), rows.float().mean()
