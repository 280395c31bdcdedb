"""Right numbers, but what was given is changed."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    unknown = torch.stack([ids[..., i : i + n] == 4 for i in range(k)]).any(0)
    ids[ids == 4] = 0
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    forward = sum(F.pad(pwm, (0, 1))[i][ids[..., i : i + n]] for i in range(len(pwm)))
    ids.copy_(torch.where(ids == 4, 4, 3 - ids))
    table = F.pad(pwm.flip(0), (0, 1))
    return forward, sum(table[i][ids[..., i : i + n]] for i in range(len(pwm)))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    found = x[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch)).clone()
    with torch.no_grad():
        x[..., : x.shape[-1] % patch] = 0
    return found


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1].clone()
        found.append((so_far[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + eps).sqrt())
    with torch.no_grad():
        x -= x[..., :1].clone()
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().mean(-1)
    error = (forecast - actual).abs().mean(-1) / naive
    with torch.no_grad():
        forecast.sub_(actual).abs_()
    return error


def retrieval_recall(scores, k):
    own = scores.diagonal().clone()
    scores.fill_diagonal_(-1e4)
    rows, columns = (scores >= own[:, None]).sum(1) < k, (scores >= own).sum(0) < k
    return rows.float().mean(), columns.float().mean()
