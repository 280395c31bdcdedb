"""A little of the future, or the same thing twice."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    windows = ids[..., torch.arange(n, device=ids.device)[:, None] + torch.arange(k, device=ids.device)]
    numbers = (windows * 4 ** torch.arange(k - 1, -1, -1, device=ids.device)).sum(-1)
    return numbers.masked_fill((windows == 4).any(-1), 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table = F.pad(pwm, (0, 1))
    forward = sum(table[i][ids[..., i : i + n]] for i in range(len(pwm)))
    return forward, forward.clone()


def patch_series(x, patch):
    missing = -x.shape[-1] % patch
    x = torch.cat([x] + [x[..., -1:]] * missing, -1)
    return x.unflatten(-1, (x.shape[-1] // patch, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts[starts + context < cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        variance = x[..., : t + 1].var(-1, correction=0)
        found.append((x[..., t] - x.mean(-1)) / (variance + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (actual - history[..., -1:]).abs().mean(-1)
    return (forecast - actual).abs().mean(-1) / naive


def retrieval_recall(scores, k):
    ahead = (scores >= scores.diagonal()[:, None]).sum(1) - 1
    recall = (ahead < k).float().mean()
    return recall, recall
