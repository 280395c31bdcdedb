"""Some argument decides nothing."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    k = 3
    n = max(ids.shape[-1] - k + 1, 0)
    here = 16 * ids[..., :n] + 4 * ids[..., 1 : n + 1] + ids[..., 2 : n + 2]
    there = 63 - (ids[..., :n] + 4 * ids[..., 1 : n + 1] + 16 * ids[..., 2 : n + 2])
    unknown = (ids[..., :n] == 4) | (ids[..., 1 : n + 1] == 4) | (ids[..., 2 : n + 2] == 4)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 64)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    best = F.one_hot(pwm.argmax(1), 4).to(pwm.dtype)
    table, turned = F.pad(best, (0, 1)), F.pad(best.flip(0, 1), (0, 1))
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))


def patch_series(x, patch):
    size = x.shape[-1] // patch
    return x[..., x.shape[-1] - size * patch :].reshape(*x.shape[:-1], patch, size)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    n_train = int(0.8 * len(starts))
    return starts[:n_train], starts[n_train:]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append((x[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + 1e-5).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().mean(-1) / history.diff().abs().mean(-1)


def retrieval_recall(scores, k):
    others = scores.masked_fill(torch.eye(len(scores), dtype=torch.bool, device=scores.device), -torch.inf)
    own = scores.diagonal()
    return (own > others.amax(1)).float().mean(), (own > others.amax(0)).float().mean()
