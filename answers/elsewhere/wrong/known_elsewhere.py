"""A habit from elsewhere."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    ids = ids.masked_fill(ids == 4, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    return torch.minimum(here, there) if canonical else here


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    forward, backward = (sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))
    return backward, forward


def time_split(length, context, horizon, cut):
    starts = torch.randperm(max(length - context - horizon + 1, 0))
    n_train = (starts + context + horizon <= cut).sum()
    return starts[:n_train].sort().values, starts[n_train:].sort().values


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append((x[..., t] - so_far.mean(-1)) / (so_far.var(-1) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().mean(-1) / history.std(-1)


def retrieval_recall(scores, k):
    own = torch.arange(len(scores), device=scores.device)
    top = min(k, len(scores))
    rows = scores.softmax(1).sort(dim=1, descending=True, stable=True).indices[:, :top] == own[:, None]
    columns = scores.softmax(0).sort(dim=0, descending=True, stable=True).indices[:top] == own
    return rows.any(1).float().mean(), columns.any(0).float().mean()
