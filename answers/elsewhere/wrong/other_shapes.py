"""A dimension too many, or one too few."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    windows = ids[..., torch.arange(n, device=ids.device)[:, None] + torch.arange(k, device=ids.device)]
    powers = 4 ** torch.arange(k, device=ids.device)
    here = (windows * powers.flip(0)).sum(-1, keepdim=True)
    there = ((3 - windows) * powers).sum(-1, keepdim=True)
    return (torch.minimum(here, there) if canonical else here).masked_fill((windows == 4).any(-1, True), 4**k)


def motif_scores(ids, pwm):
    m, n = len(pwm), max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(torch.stack([t[i][ids[..., i : i + n]] for i in range(m)], -1) for t in (table, turned))


def patch_series(x, patch):
    return x[..., x.shape[-1] % patch :]


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts + context + horizon <= cut, starts + context >= cut


def running_zscore(x, eps=1e-5):
    so_far = x.unsqueeze(-2) * torch.ones_like(x).unsqueeze(-1).tril()
    return (so_far - so_far.mean(-1, keepdim=True)) / (so_far.var(-1, correction=0, keepdim=True) + eps).sqrt()


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().mean(-1, keepdim=True)
    return (forecast - actual).abs() / naive


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    return rows.to(scores.dtype), columns.to(scores.dtype)
