"""Sees what is not known yet, or takes the better of two."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=True):
    n = max(ids.shape[-1] - k + 1, 0)
    windows = ids[..., torch.arange(n, device=ids.device)[:, None] + torch.arange(k, device=ids.device)]
    powers = 4 ** torch.arange(k, device=ids.device)
    numbers = torch.minimum((windows * powers.flip(0)).sum(-1), ((3 - windows) * powers).sum(-1))
    return numbers.masked_fill((windows == 4).any(-1), 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    forward, backward = (sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))
    best = torch.maximum(forward, backward)
    return best, best


def patch_series(x, patch):
    x = F.pad(x, (0, -x.shape[-1] % patch))
    return x.reshape(*x.shape[:-1], x.shape[-1] // patch, patch)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts[:cut], starts[cut:]


def running_zscore(x, eps=1e-5):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + eps)


def scaled_error(forecast, actual, history, season=1):
    whole = torch.cat([history, actual], -1)
    naive = (whole[..., season:] - whole[..., :-season]).abs().mean(-1)
    return (forecast - actual).abs().mean(-1) / naive


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores > own[:, None]).sum(1) < k, (scores > own).sum(0) < k
    return rows.float().mean(), columns.float().mean()
