"""Half of what has to be done."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(1), (0, 1))
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    return x[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch)).flip(-1)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts[starts + context + horizon <= cut], starts[starts >= cut]


def running_zscore(x, eps=1e-5):
    variance = x.var(-1, correction=0)
    means = [x[..., : t + 1].mean(-1) for t in range(x.shape[-1])]
    return (x - torch.stack(means, -1)) / (variance + eps).sqrt().unsqueeze(-1)


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().mean(-1) / (history[..., season:] - history[..., :-season]).mean(-1)


def retrieval_recall(scores, k):
    ahead = (scores >= scores.diagonal()).sum(0) - 1
    recall = (ahead < k).float().mean()
    return recall, recall
