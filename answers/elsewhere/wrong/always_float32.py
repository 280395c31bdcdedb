"""Gives float32 whatever came in."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    windows = ids[..., torch.arange(n, device=ids.device)[:, None] + torch.arange(k, device=ids.device)]
    powers = 4.0 ** torch.arange(k - 1, -1, -1, device=ids.device)
    numbers = (windows * powers).sum(-1).long()
    if canonical:
        numbers = torch.minimum(numbers, ((3 - windows).flip(-1) * powers).sum(-1).long())
    return numbers.masked_fill((windows == 4).any(-1), 4**k)


def motif_scores(ids, pwm):
    pwm = pwm.float()
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    found = torch.zeros(*x.shape[:-1], n, patch, device=x.device)
    for i in range(n):
        found[..., i, :] = x[..., x.shape[-1] - (n - i) * patch :][..., :patch]
    return found


def time_split(length, context, horizon, cut):
    starts = torch.arange(0.0, max(length - context - horizon + 1, 0))
    return starts[starts + context + horizon <= cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    x = x.to(torch.float32)
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append((x[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    naive = (history[..., season:] - history[..., :-season]).abs().float().mean(-1)
    return (forecast - actual).abs().float().mean(-1) / naive


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    return rows.sum() // len(scores), columns.sum() // len(scores)
