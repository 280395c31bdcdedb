"""The other half of what has to be done."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum(base * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table = F.pad(pwm, (0, 1))
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, table.flip(0)))


def patch_series(x, patch):
    backwards = x.flip(-1)
    n = x.shape[-1] // patch
    return backwards[..., : n * patch].unflatten(-1, (n, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    train = starts + context + horizon <= cut
    return starts[train], starts[~train]


def running_zscore(x, eps=1e-5):
    count = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
    centred = x - x.cumsum(-1) / count
    return centred / (centred.square().cumsum(-1) / count + eps).sqrt()


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).mean(-1) / (history[..., season:] - history[..., :-season]).abs().mean(-1)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores <= own[:, None]).sum(1) - 1 < k, (scores <= own).sum(0) - 1 < k
    return rows.float().mean(), columns.float().mean()
