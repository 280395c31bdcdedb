"""Numbers that do not fit into their type."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n].int() for i in range(k)]
    here = there = torch.zeros_like(ids[..., :n], dtype=torch.int32)
    for base in columns:
        here = here * 4 + base
    for base in reversed(columns):
        there = there * 4 + (3 - base)
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return torch.where(unknown, 4**k, (torch.minimum(here, there) if canonical else here).long())


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    small = pwm.bfloat16()
    table, turned = F.pad(small, (0, 1)), F.pad(small.flip(0, 1), (0, 1))
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))).to(pwm.dtype) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    return x.half()[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch)).to(x.dtype)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0), dtype=torch.int32)
    return starts[starts + context + horizon <= cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    small = x.half()
    found = []
    for t in range(x.shape[-1]):
        so_far = small[..., : t + 1]
        found.append((small[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1).to(x.dtype)


def scaled_error(forecast, actual, history, season=1):
    f, a, h = forecast.bfloat16(), actual.bfloat16(), history.bfloat16()
    return ((f - a).abs().mean(-1) / (h[..., season:] - h[..., :-season]).abs().mean(-1)).to(forecast.dtype)


def retrieval_recall(scores, k):
    scores = scores.int()
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    return rows.float().mean(), columns.float().mean()
