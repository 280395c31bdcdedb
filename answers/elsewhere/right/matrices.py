"""Triangles, tables of positions and other algebra where others loop."""

import torch


def positions(n, size, device):
    return torch.arange(n, device=device).unsqueeze(1) + torch.arange(size, device=device)


def kmer_ids(ids, k, canonical=False):
    n = max(ids.shape[-1] - k + 1, 0)
    at = positions(n, k, ids.device)
    shift = 2 * torch.arange(k - 1, -1, -1, device=ids.device)
    windows = ids[..., at]
    here = (windows << shift).sum(-1)
    turned = 3 - windows.flip(-1)
    there = (turned * (1 << shift)).sum(-1)
    number = torch.stack([here, there]).amin(0) if canonical else here
    unknown = (windows // 4).sum(-1) > 0
    return number * ~unknown + 4**k * unknown


def motif_scores(ids, pwm):
    n = max(ids.shape[-1] - len(pwm) + 1, 0)
    letters = torch.eye(5, dtype=pwm.dtype, device=pwm.device)[:, :4][ids]  # (..., seq, 4)
    windows = letters[..., positions(n, len(pwm), ids.device), :]  # (..., n, m, 4)
    return torch.einsum("...nmb,mb->...n", windows, pwm), torch.einsum("...nmb,mb->...n", windows.flip(-1, -2), pwm)


def patch_series(x, patch):
    n = x.shape[-1] // patch
    at = torch.arange(x.shape[-1], device=x.device)[x.shape[-1] - n * patch :].reshape(n, patch)
    return x[..., at]


def time_split(length, context, horizon, cut):
    n = max(length - context - horizon + 1, 0)
    predicted = positions(n, horizon, "cpu") + context
    train, test = (predicted < cut).all(1), (predicted >= cut).all(1)
    return train.nonzero().flatten(), test.nonzero().squeeze(1)


def running_zscore(x, eps=1e-5):
    time = x.shape[-1]
    past = torch.ones(time, time, dtype=x.dtype, device=x.device).tril()
    past = past / past.sum(1, keepdim=True)
    moved = x - x[..., :1]
    mean = (moved.unsqueeze(-2) * past).sum(-1)
    variance = ((moved.unsqueeze(-2) - mean.unsqueeze(-1)).square() * past).sum(-1)
    return (moved - mean) / torch.sqrt(variance + eps)


def scaled_error(forecast, actual, history, season=1):
    error = torch.maximum(forecast - actual, actual - forecast).mean(-1)
    pairs = history.unfold(-1, season + 1, 1)
    return error / torch.sub(pairs[..., -1], pairs[..., 0]).abs().mean(-1)


def retrieval_recall(scores, k):
    n = len(scores)
    margin = scores - scores.diagonal().unsqueeze(1)
    down = scores - scores.diagonal()
    better = (margin >= 0).sum(1) - 1, (down >= 0).sum(0) - 1
    return tuple((b < k).sum() / n for b in better)
