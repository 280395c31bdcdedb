"""Makes its own tensors on the CPU."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    windows = ids[..., torch.arange(n)[:, None] + torch.arange(k)]
    powers = 4 ** torch.arange(k)
    here, there = (windows * powers.flip(0)).sum(-1), ((3 - windows) * powers).sum(-1)
    return (torch.minimum(here, there) if canonical else here).masked_fill((windows == 4).any(-1), 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    forward = torch.zeros(*ids.shape[:-1], n, dtype=pwm.dtype)
    backward = torch.zeros(*ids.shape[:-1], n, dtype=pwm.dtype)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    for i in range(len(pwm)):
        forward = forward + table[i][ids[..., i : i + n]]
        backward = backward + turned[i][ids[..., i : i + n]]
    return forward, backward


def patch_series(x, patch):
    n = x.shape[-1] // patch
    found = torch.zeros(*x.shape[:-1], n, patch, dtype=x.dtype)
    return found + x[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch))


def running_zscore(x, eps=1e-5):
    moved = x - x[..., :1]
    count = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    mean = moved.cumsum(-1) / count
    added = (moved - F.pad(mean, (1, -1))) * (moved - mean)
    return (moved - mean) / (added.cumsum(-1) / count + eps).sqrt()


def scaled_error(forecast, actual, history, season=1):
    at = torch.arange(season, history.shape[-1])
    naive = torch.zeros((*history.shape[:-1], len(at)), dtype=history.dtype)
    naive = naive + (history[..., season:] - history[..., :-season]).abs()
    return (forecast - actual).abs().mean(-1) / naive.mean(-1)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    others = ~torch.eye(len(scores), dtype=torch.bool)
    rows, columns = ((scores >= own[:, None]) & others).sum(1), ((scores >= own) & others).sum(0)
    return (rows < k).float().mean(), (columns < k).float().mean()
