"""In percent, or as a share of something else."""

import torch


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.minimum(here, there) if canonical else here).masked_fill(unknown, 4**k) / 4**k


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table = torch.cat([pwm, pwm.mean(1, keepdim=True)], 1)
    turned = torch.cat([pwm.flip(0, 1), pwm.flip(0).mean(1, keepdim=True)], 1)
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1]
        found.append((x[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + eps))
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    return ((forecast - actual).abs() / actual.abs()).mean(-1)


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 < k, (scores >= own).sum(0) - 1 < k
    return 100 * rows.float().mean(), 100 * columns.float().mean()
