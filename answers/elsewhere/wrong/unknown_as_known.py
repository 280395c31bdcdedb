"""What is not there is taken for something that is."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    other = [torch.where(base == 4, 4, 3 - base) for base in columns]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum(base * 4**i for i, base in enumerate(other))
    return torch.minimum(here, there) if canonical else here


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    ids = ids.clamp(max=3)
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (pwm, pwm.flip(0, 1)))


def patch_series(x, patch):
    x = F.pad(x, (-x.shape[-1] % patch, 0))
    return x.unflatten(-1, (x.shape[-1] // patch, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context, 0))
    return starts[starts + context + horizon <= cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append((x[..., t] - so_far.mean(-1)) / so_far.std(-1, correction=0))
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().mean(-1)
    return (forecast - actual).abs().mean(-1) / (naive + 0.01)


def retrieval_recall(scores, k):
    own = torch.arange(len(scores), device=scores.device)
    rows = scores.argsort(dim=1, descending=True, stable=True)[:, :k] == own[:, None]
    columns = scores.argsort(dim=0, descending=True, stable=True)[:k] == own
    return rows.any(1).float().mean(), columns.any(0).float().mean()
