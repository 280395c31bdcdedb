"""Works for a batch of one dimension only."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    _batch, seq = ids.shape
    n = max(seq - k + 1, 0)
    windows = ids[:, torch.arange(n, device=ids.device)[:, None] + torch.arange(k, device=ids.device)]
    powers = 4 ** torch.arange(k, device=ids.device)
    here, there = (windows * powers.flip(0)).sum(2), ((3 - windows) * powers).sum(2)
    return (torch.minimum(here, there) if canonical else here).masked_fill((windows == 4).any(2), 4**k)


def motif_scores(ids, pwm):
    _batch, seq = ids.shape
    n = max(seq - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(sum(t[i][ids[:, i : i + n]] for i in range(len(pwm))) for t in (table, turned))


def patch_series(x, patch):
    batch, time = x.shape
    return x[:, time % patch :].reshape(batch, time // patch, patch)


def running_zscore(x, eps=1e-5):
    _batch, time = x.shape
    found = []
    for t in range(time):
        so_far = x[:, : t + 1]
        found.append((x[:, t] - so_far.mean(1)) / (so_far.var(1, correction=0) + eps).sqrt())
    return torch.stack(found, 1)


def scaled_error(forecast, actual, history, season=1):
    batch, _horizon = forecast.shape
    naive = (history[:, season:] - history[:, :-season]).abs().mean(1)
    return torch.stack([(forecast[b] - actual[b]).abs().mean() / naive[b] for b in range(batch)])
