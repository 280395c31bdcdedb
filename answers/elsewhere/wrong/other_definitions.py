"""What other texts define."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    columns = [ids[..., i : i + n] for i in range(k)]
    here = sum(base * 4 ** (k - 1 - i) for i, base in enumerate(columns))
    there = sum((3 - base) * 4**i for i, base in enumerate(columns))
    unknown = torch.stack([base == 4 for base in columns]).any(0)
    return (torch.maximum(here, there) if canonical else here).masked_fill(unknown, 4**k)


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    pwm = pwm.log_softmax(1)
    table, turned = F.pad(pwm, (0, 1)), F.pad(pwm.flip(0, 1), (0, 1))
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))


def patch_series(x, patch):
    stride = max(patch // 2, 1)
    ends = range(x.shape[-1], patch - 1, -stride)
    found = [x[..., end - patch : end] for end in reversed(ends)]
    return torch.stack(found, -2) if found else x.new_zeros(*x.shape[:-1], 0, patch)


def time_split(length, context, horizon, cut):
    starts = torch.arange(max(length - context - horizon + 1, 0))
    return starts[starts + 2 * context + horizon <= cut], starts[starts + context >= cut]


def running_zscore(x, eps=1e-5):
    mean, variance, found = x[..., 0], torch.zeros_like(x[..., 0]), []
    for value in x.unbind(-1):
        mean = 0.9 * mean + 0.1 * value
        variance = 0.9 * variance + 0.1 * (value - mean).square()
        found.append((value - mean) / (variance + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    steps = history[..., season:] - history[..., :-season]
    return ((forecast - actual).square().mean(-1) / steps.square().mean(-1)).sqrt()


def retrieval_recall(scores, k):
    own = scores.diagonal()
    rows, columns = (scores >= own[:, None]).sum(1) - 1 >= k, (scores >= own).sum(0) - 1 >= k
    return rows.float().mean(), columns.float().mean()
