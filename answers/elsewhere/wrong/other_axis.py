"""Along another dimension."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[0] - k + 1, 0)
    columns = [ids[i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    m, n = len(pwm), max(ids.shape[-1] - len(pwm) + 1, 0)
    table = F.pad(pwm, (0, 1)).T
    turned = F.pad(pwm.flip(0, 1), (0, 1)).T
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(m)) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    return x[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch)).transpose(-1, -2)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    pairs = torch.stack([starts, starts + context], 1)
    return pairs[starts + context + horizon <= cut], pairs[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[0]):
        so_far = x[: t + 1]
        found.append((x[t] - so_far.mean(0)) / (so_far.var(0, correction=0) + eps).sqrt())
    return torch.stack(found)


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().mean(0) / (history[..., season:] - history[..., :-season]).abs().mean(0)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own).sum(1) - 1 < k, (scores >= own[:, None]).sum(0) - 1 < k
    return rows.float().mean(), columns.float().mean()
