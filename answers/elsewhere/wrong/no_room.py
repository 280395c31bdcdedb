"""Fails where there is too little, or where a slice becomes all of it."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    windows = ids.unfold(-1, k, 1)
    powers = 4 ** torch.arange(k, device=ids.device)
    here, there = (windows * powers.flip(0)).sum(-1), ((3 - windows) * powers).sum(-1)
    return (torch.minimum(here, there) if canonical else here).masked_fill((windows == 4).any(-1), 4**k)


def motif_scores(ids, pwm):
    windows = ids.unfold(-1, len(pwm), 1)
    place = torch.arange(len(pwm), device=ids.device)
    return F.pad(pwm, (0, 1))[place, windows].sum(-1), F.pad(pwm.flip(0, 1), (0, 1))[place, windows].sum(-1)


def patch_series(x, patch):
    n = x.shape[-1] // patch
    return x[..., -n * patch :].reshape(*x.shape[:-1], n, patch)


def time_split(length, context, horizon, cut):
    starts = torch.arange(length - context - horizon + 1)
    return starts[starts + context + horizon <= cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    found = [x[..., 0] * 0]
    for t in range(1, x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append((x[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found[1:], -1)


def scaled_error(forecast, actual, history, season=1):
    last = history[..., -2 * season :]
    naive = (last[..., season:] - last[..., :season]).abs().mean(-1)
    return (forecast - actual).abs().mean(-1) / naive


def retrieval_recall(scores, k):
    others = scores.masked_fill(torch.eye(len(scores), dtype=torch.bool, device=scores.device), -torch.inf)
    own = scores.diagonal()
    rows, columns = others.topk(k, 1).values[:, -1] < own, others.topk(k, 0).values[-1] < own
    return rows.float().mean(), columns.float().mean()
