"""A sum where a mean belongs, or the other way round."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    numbers = sum(base * 4 for base in columns)
    return numbers.masked_fill(torch.stack([base == 4 for base in columns]).any(0), 4**k)


def motif_scores(ids, pwm):
    m, n = len(pwm), max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(torch.stack([t[i][ids[..., i : i + n]] for i in range(m)]).mean(0) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    patches = x[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch))
    return patches - patches.mean(-1, keepdim=True)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return (starts + context + horizon <= cut).sum(), (starts + context >= cut).sum()


def running_zscore(x, eps=1e-5):
    mean = x.cumsum(-1) / x.shape[-1]
    variance = torch.stack([x[..., : t + 1].var(-1, correction=0) for t in range(x.shape[-1])], -1)
    return (x - mean) / (variance + eps).sqrt()


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().sum(-1) / (history[..., season:] - history[..., :-season]).abs().sum(-1)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    return float(rows.sum()), float(columns.sum())
