"""One too few, or one too many."""

import torch


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    m = len(pwm)
    table = torch.cat([pwm, torch.zeros_like(pwm[:, :1])], 1)
    turned = torch.cat([pwm.flip(0, 1), torch.zeros_like(pwm[:, :1])], 1)
    n = max(ids.shape[-1] - m, 0)
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(m)) for t in (table, turned))


def patch_series(x, patch):
    n = (x.shape[-1] - 1) // patch
    return x[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon, 0))
    return starts[starts + context + horizon <= cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    count = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device)
    moved = x - x[..., :1]
    mean = moved.cumsum(-1) / count
    variance = moved.square().cumsum(-1) / count - mean.square()
    return (moved - mean) / (variance + eps).sqrt()


def scaled_error(forecast, actual, history, season=1):
    naive = [(history[..., t] - history[..., t - season]).abs() for t in range(season, history.shape[-1])]
    return (forecast - actual).abs().mean(-1) / (sum(naive) / (len(naive) + 1))


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows = (scores >= own[:, None]).sum(1) - 1 <= k
    columns = (scores >= own).sum(0) - 1 <= k
    return rows.float().mean(), columns.float().mean()
