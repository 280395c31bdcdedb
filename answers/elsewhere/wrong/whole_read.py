"""The whole is turned or counted, not the part."""

import torch
import torch.nn.functional as F


def plain_words(ids, k):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    numbers = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    return numbers.masked_fill(torch.stack([base == 4 for base in columns]).any(0), 4**k)


def turned(ids):
    return torch.where(ids == 4, 4, 3 - ids).flip(-1)


def kmer_ids(ids, k, canonical=False):
    here = plain_words(ids, k)
    return torch.minimum(here, plain_words(turned(ids), k)) if canonical else here


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table = F.pad(pwm, (0, 1))
    return tuple(sum(table[i][s[..., i : i + n]] for i in range(len(pwm))) for s in (ids, turned(ids)))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    kept = x[..., x.shape[-1] - n * patch :]
    return (kept - x.mean(-1, keepdim=True)).unflatten(-1, (n, patch))


def time_split(length, context, horizon, cut):
    first = torch.arange(context, max(length - horizon + 1, context))
    return first[first + horizon <= cut], first[first >= cut]


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        found.append((x[..., t] - x[..., 0]) / (x[..., : t + 1].var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().mean(-1) / (history - history.roll(season, -1)).abs().mean(-1)


def retrieval_recall(scores, k):
    best = scores.flatten().topk(min(k * len(scores), scores.numel())).values[-1]
    found = (scores.diagonal() >= best).float().mean()
    return found, found
