"""Drops more than it has to."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = (ids == 4).any(-1, keepdim=True)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    columns = [ids[..., i : i + n] for i in range(len(pwm))]
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(sum(t[i][c] for i, c in enumerate(columns)).masked_fill(unknown, 0) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    return x[..., : n * patch].unflatten(-1, (n, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts[starts + context + horizon <= cut], starts[starts + context > cut]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append(x[..., t] / (so_far.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().median(-1).values
    return (forecast - actual).abs().median(-1).values / naive


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    return (rows & columns).float().mean(), (rows & columns).float().mean()
