"""Steps of another length."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    seq = ids.shape[-1] // k * k
    windows = ids[..., :seq].unflatten(-1, (seq // k, k))
    powers = 4 ** torch.arange(k, device=ids.device)
    here, there = (windows * powers.flip(0)).sum(-1), ((3 - windows) * powers).sum(-1)
    return (torch.minimum(here, there) if canonical else here).masked_fill((windows == 4).any(-1), 4**k)


def motif_scores(ids, pwm):
    m = len(pwm)
    seq = ids.shape[-1] // m * m
    windows = ids[..., :seq].unflatten(-1, (seq // m, m))
    place = torch.arange(m, device=ids.device)
    return F.pad(pwm, (0, 1))[place, windows].sum(-1), F.pad(pwm.flip(0, 1), (0, 1))[place, windows].sum(-1)


def patch_series(x, patch):
    n = max(x.shape[-1] - patch + 1, 0)
    return x[..., torch.arange(n, device=x.device)[:, None] + torch.arange(patch, device=x.device)]


def time_split(length, context, horizon, cut):
    starts = torch.arange(0, max(length - context - horizon + 1, 0), context + horizon)
    return starts[starts + context + horizon <= cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        window = x[..., max(t - 3, 0) : t + 1]
        found.append((x[..., t] - window.mean(-1)) / (window.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().mean(-1) / torch.diff(history, n=season, dim=-1).abs().mean(-1)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    return rows.float().sum() / (k * len(scores)), columns.float().sum() / (k * len(scores))
