"""torch's own functions: unfold, conv1d, layer_norm, l1_loss, topk."""

import torch
import torch.nn.functional as F


def kmer_ids(ids, k, canonical=False):
    if ids.shape[-1] < k:
        return ids.new_empty(*ids.shape[:-1], 0)
    powers = torch.tensor([4**i for i in range(k)], device=ids.device)
    windows = ids.unfold(-1, k, 1)
    numbers = (windows * powers.flip(0)).sum(-1)
    if canonical:
        numbers = numbers.minimum(((3 - windows) * powers).sum(-1))
    return numbers.where(~windows.eq(4).any(-1), torch.full_like(numbers, 4**k))


def motif_scores(ids, pwm):
    leading, n = ids.shape[:-1], ids.shape[-1] - len(pwm) + 1
    if n < 1:
        return pwm.new_zeros(*leading, 0), pwm.new_zeros(*leading, 0)
    letters = (ids.unsqueeze(-1) == torch.arange(4, device=ids.device)).to(pwm.dtype)  # N is a row of zeros
    letters = letters.reshape(-1, ids.shape[-1], 4).mT
    kernels = torch.stack([pwm.T, pwm.flip(0, 1).T])
    forward, backward = F.conv1d(letters, kernels).unbind(1)
    return forward.reshape(*leading, n), backward.reshape(*leading, n)


def patch_series(x, patch):
    if x.shape[-1] < patch:
        return x.new_empty(*x.shape[:-1], 0, patch)
    return x.flip(-1).unfold(-1, patch, patch).flip(-1, -2)


def time_split(length, context, horizon, cut):
    past_the_last = max(length - context - horizon + 1, 0)
    train = torch.arange(min(max(cut - horizon - context + 1, 0), past_the_last))
    test = torch.arange(min(max(cut - context, 0), past_the_last), past_the_last)
    return train, test


def running_zscore(x, eps=1e-5):
    prefixes = (x[..., : t + 1] for t in range(x.shape[-1]))
    return torch.stack([F.layer_norm(p, p.shape[-1:], eps=eps)[..., -1] for p in prefixes], -1)


def scaled_error(forecast, actual, history, season=1):
    error = F.l1_loss(forecast, actual, reduction="none").mean(-1)
    steps = history.narrow(-1, season, history.shape[-1] - season)
    naive = F.l1_loss(steps, history.narrow(-1, 0, history.shape[-1] - season), reduction="none").mean(-1)
    return torch.div(error, naive)


def retrieval_recall(scores, k):
    others = scores.clone().fill_diagonal_(-torch.inf)
    if k >= len(scores):
        return 1.0, 1.0
    own = scores.diagonal()
    rows = others.topk(k, dim=1).values[:, -1] < own  # the k-th best of the others is worse
    columns = others.topk(k, dim=0).values[-1] < own
    return rows.double().mean(), columns.double().mean()
