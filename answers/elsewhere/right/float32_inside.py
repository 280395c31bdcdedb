"""Computes in float32 or with Python's numbers, whatever comes in, and gives back what came."""

import torch


def word(bases, canonical):
    if 4 in bases:
        return 4 ** len(bases)
    here = int("".join(str(b) for b in bases), 4)
    there = int("".join(str(3 - b) for b in reversed(bases)), 4)
    return min(here, there) if canonical else here


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    count = 1
    for size in ids.shape[:-1]:
        count *= size
    rows = ids.reshape(count, ids.shape[-1]).tolist()
    numbers = [[word(row[t : t + k], canonical) for t in range(n)] for row in rows]
    return torch.tensor(numbers, dtype=torch.int64, device=ids.device).reshape(*ids.shape[:-1], n)


def motif_scores(ids, pwm):
    table = pwm.float()
    m = len(table)
    n = max(ids.shape[-1] - m + 1, 0)
    known = (ids != 4).float()
    rows = table.T[ids.clamp(max=3)] * known.unsqueeze(-1)  # (..., seq, m): what each base is worth at each place
    turned = table.flip(0, 1).T[ids.clamp(max=3)] * known.unsqueeze(-1)
    forward = torch.zeros(*ids.shape[:-1], n, device=pwm.device)
    backward = torch.zeros_like(forward)
    for i in range(m):
        forward = forward + rows[..., i : i + n, i]
        backward = backward + turned[..., i : i + n, i]
    return forward.to(pwm.dtype), backward.to(pwm.dtype)


def patch_series(x, patch):
    rest = x.shape[-1] % patch
    kept = x.float()[..., rest:]
    return kept.view(*kept.shape[:-1], kept.shape[-1] // patch, patch).to(x.dtype)


def time_split(length, context, horizon, cut):
    ends = torch.arange(context + horizon, length + 1) if length >= context + horizon else torch.arange(0)
    starts = ends - context - horizon
    return starts[ends <= cut].clone(), starts[ends - horizon >= cut].clone()


def running_zscore(x, eps=1e-5):
    precise = x.double()
    count = torch.arange(1, x.shape[-1] + 1, device=x.device)
    mean = precise.cumsum(-1) / count
    variance = (precise.square().cumsum(-1) / count - mean.square()).clamp(min=0)  # float64 has the digits for this
    return ((precise - mean) / (variance + eps).sqrt()).to(x.dtype)


def scaled_error(forecast, actual, history, season=1):
    f, a, h = forecast.float(), actual.float(), history.float()
    error = (f - a).abs().sum(-1) / f.shape[-1]
    naive = (h[..., season:] - h[..., : h.shape[-1] - season]).abs().sum(-1) / (h.shape[-1] - season)
    return (error / naive).to(forecast.dtype)


def retrieval_recall(scores, k):
    s = scores.float()
    own = torch.diagonal(s)
    n = s.shape[0]
    rows = (s >= own.reshape(n, 1)).sum(1) - 1
    columns = (s >= own.reshape(1, n)).sum(0) - 1
    return (rows < k).sum().item() / n, (columns < k).sum().item() / n
