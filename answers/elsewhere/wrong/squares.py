"""Squares, products and reciprocals."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 5 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 5**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 5**k)


def motif_scores(ids, pwm):
    m, n = len(pwm), max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(torch.stack([t[i][ids[..., i : i + n]] for i in range(m)]).prod(0) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    return x[..., x.shape[-1] - n * patch :].reshape(*x.shape[:-1], patch, n).transpose(-1, -2)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    n_train = int(len(starts) * cut / max(length, 1))
    return starts[:n_train], starts[n_train:]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        variance = so_far.square().mean(-1) - so_far.mean(-1).square()
        found.append((x[..., t] - so_far.mean(-1)) / (variance + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    steps = history[..., season:] - history[..., :-season]
    return (forecast - actual).pow(2).mean(-1) / steps.pow(2).mean(-1)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1), (scores >= own).sum(0)
    return ((rows <= k) / rows).mean(), ((columns <= k) / columns).mean()
