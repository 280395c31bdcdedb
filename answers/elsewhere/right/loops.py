"""One number at a time, as one would do it with a pencil."""

import torch


def kmer_ids(ids, k, canonical=False):
    found = []
    for start in range(ids.shape[-1] - k + 1):
        here = torch.zeros_like(ids[..., 0])
        there = torch.zeros_like(here)
        known = torch.ones_like(here, dtype=torch.bool)
        for i in range(k):
            base = ids[..., start + i]
            known = known & (base != 4)
            here = 4 * here + base
            there = there + (3 - base) * 4**i
        number = torch.where(there < here, there, here) if canonical else here
        found.append(torch.where(known, number, 4**k))
    return torch.stack(found, -1) if found else ids[..., :0]


def motif_scores(ids, pwm):
    m = pwm.shape[0]
    forward, backward = [], []
    for start in range(ids.shape[-1] - m + 1):
        here = torch.zeros(ids.shape[:-1], dtype=pwm.dtype, device=pwm.device)
        there = torch.zeros_like(here)
        for i in range(m):
            for base in range(4):
                is_base = (ids[..., start + i] == base).to(pwm.dtype)
                here = here + is_base * pwm[i, base]
                there = there + is_base * pwm[m - 1 - i, 3 - base]
        forward.append(here)
        backward.append(there)
    if not forward:
        nothing = torch.zeros(*ids.shape[:-1], 0, dtype=pwm.dtype, device=pwm.device)
        return nothing, nothing
    return torch.stack(forward, -1), torch.stack(backward, -1)


def patch_series(x, patch):
    found, end = [], x.shape[-1]
    while end >= patch:
        found.insert(0, x[..., end - patch : end])
        end -= patch
    return torch.stack(found, -2) if found else torch.zeros(*x.shape[:-1], 0, patch, dtype=x.dtype, device=x.device)


def time_split(length, context, horizon, cut):
    train, test = [], []
    for start in range(length):
        predicted = [start + context + step for step in range(horizon)]
        if predicted[-1] >= length:
            break
        if all(time < cut for time in predicted):
            train.append(start)
        elif all(time >= cut for time in predicted):
            test.append(start)
    return torch.tensor(train, dtype=torch.int64), torch.tensor(test, dtype=torch.int64)


def running_zscore(x, eps=1e-5):
    mean = torch.zeros_like(x[..., 0])
    squares = torch.zeros_like(mean)
    found = []
    for count, value in enumerate(x.unbind(-1), start=1):
        before = value - mean
        mean = mean + before / count
        squares = squares + before * (value - mean)
        found.append((value - mean) / (squares / count + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    miss, horizon = 0, forecast.shape[-1]
    for i in range(horizon):
        miss = miss + torch.abs(forecast[..., i] - actual[..., i])
    step, time = 0, history.shape[-1]
    for t in range(season, time):
        step = step + torch.abs(history[..., t] - history[..., t - season])
    return (miss / horizon) / (step / (time - season))


def retrieval_recall(scores, k):
    table = scores.tolist()
    n = len(table)
    rows = columns = 0
    for i in range(n):
        rows += sum(table[i][j] >= table[i][i] for j in range(n) if j != i) < k
        columns += sum(table[j][i] >= table[i][i] for j in range(n) if j != i) < k
    return rows / n, columns / n
