"""Computes, and keeps it; or gives something else back."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    windows = ids[..., torch.arange(n, device=ids.device)[:, None] + torch.arange(k, device=ids.device)]
    numbers = (windows * 4 ** torch.arange(k - 1, -1, -1, device=ids.device)).sum(-1)
    numbers.masked_fill((windows == 4).any(-1), 4**k)
    return windows


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table = F.pad(pwm, (0, 1))
    return sum(table[i][ids[..., i : i + n]] for i in range(len(pwm)))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    x[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    train, test = starts[starts + context + horizon <= cut], starts[starts + context >= cut]
    print(train, test)


def running_zscore(x, eps=1e-5):
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        z = (x[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + eps).sqrt()
    return z


def scaled_error(forecast, actual, history, season=1):
    error = (forecast - actual).abs().mean(-1)
    naive = (history[..., season:] - history[..., :-season]).abs().mean(-1)
    return error, naive


def retrieval_recall(scores, k):
    own = scores.diagonal()
    return ((scores >= own[:, None]).sum(1) - 1 < k).float().mean()
