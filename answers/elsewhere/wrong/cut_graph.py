"""Right numbers without their gradient."""

import torch
import torch.nn.functional as F


def motif_scores(ids, pwm):
    worth = pwm.detach().clone()
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    table, turned = F.pad(worth, (0, 1)), F.pad(worth.flip(0, 1), (0, 1))
    return tuple(sum(t[i][ids[..., i : i + n]] for i in range(len(pwm))) for t in (table, turned))


def patch_series(x, patch):
    n = x.shape[-1] // patch
    return x.data[..., x.shape[-1] - n * patch :].unflatten(-1, (n, patch))


def running_zscore(x, eps=1e-5):
    found = []
    for t in range(x.shape[-1]):
        so_far = x[..., : t + 1].detach()
        found.append((x[..., t] - so_far.mean(-1)) / (so_far.var(-1, correction=0) + eps).sqrt())
    return torch.stack(found, -1)


def scaled_error(forecast, actual, history, season=1):
    with torch.no_grad():
        naive = (history[..., season:] - history[..., :-season]).abs().mean(-1)
    return (forecast - actual).abs().mean(-1) / naive
