"""Another sign for what is missing."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, -1)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    low = torch.full_like(pwm[:, :1], -1e4)
    tables = torch.cat([pwm, low], 1), torch.cat([pwm.flip(0, 1), low], 1)
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in tables)


def patch_series(x, patch):
    x = F.pad(x, (-x.shape[-1] % patch, 0), value=float("nan"))
    return x.unflatten(-1, (x.shape[-1] // patch, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    first = starts + context
    return torch.where(first + horizon <= cut, starts, -1), torch.where(first >= cut, starts, -1)


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        variance = so_far.var(-1) if t else torch.zeros_like(x[..., 0])
        found.append((x[..., t] - so_far.mean(-1)) / (variance + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().mean(-1)
    return (forecast - actual).abs().mean(-1) / naive.clamp(min=5.0)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows = (scores > own[:, None]).sum(1) + 0.5 * ((scores == own[:, None]).sum(1) - 1)
    columns = (scores > own).sum(0) + 0.5 * ((scores == own).sum(0) - 1)
    return (rows < k).float().mean(), (columns < k).float().mean()
