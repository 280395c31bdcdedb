"""All of it together."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    ids = ids.flatten()
    n = max(len(ids) - k + 1, 0)
    columns = [ids[i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    m, n = len(pwm), max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    total = sum(table[i][ids[..., i : i + n]] + turned[i][ids[..., i : i + n]] for i in range(m))
    return total, total


def patch_series(x, patch):
    x = x.reshape(-1)
    return x[len(x) % patch :].reshape(-1, patch)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    both = starts[(starts + context + horizon <= cut) | (starts + context >= cut)]
    return both, both


def running_zscore(x, eps=1e-5):
    flat = x.reshape(-1)
    found = []
    for t in range(len(flat)):
        so_far = flat[: t + 1]
        found.append((flat[t] - so_far.mean()) / (so_far.var(correction=0) + eps).sqrt())
    return torch.stack(found).reshape(x.shape)


def scaled_error(forecast, actual, history, season=1):
    return (forecast - actual).abs().mean() / (history[..., season:] - history[..., :-season]).abs().mean()


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    both = torch.cat([rows, columns]).float().mean()
    return both, both
