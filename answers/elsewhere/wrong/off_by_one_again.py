"""One too many, or one too few, at the other end."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    seq = ids.shape[-1]
    padded = F.pad(ids, (0, k - 1), value=4)
    columns = [padded[..., i : i + seq] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    m, seq = len(pwm), ids.shape[-1]
    padded = F.pad(ids, (0, m - 1), value=4)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(sum(t[i][padded[..., i : i + seq]] for i in range(m)) for t in (table, turned))


def patch_series(x, patch):
    rest = x.shape[-1] % patch
    kept = x[..., rest // 2 : x.shape[-1] - (rest + 1) // 2]
    return kept.unflatten(-1, (kept.shape[-1] // patch, patch))


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts[starts + context + horizon < cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    found = [x[..., 0] / eps**0.5]
    for t in range(1, x.shape[-1]):
        before = x[..., :t]
        found.append((x[..., t] - before.mean(-1)) / (before.var(-1, unbiased=False) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().sum(-1) / history.shape[-1]
    return (forecast - actual).abs().mean(-1) / naive


def retrieval_recall(scores, k):
    own = scores.diagonal()
    return ((scores >= own[:, None]).sum(1) < k).float().mean(), ((scores >= own).sum(0) < k).float().mean()
