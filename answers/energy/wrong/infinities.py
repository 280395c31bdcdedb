"""Infinite entries are replaced by something else, or make NaN."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    energies = energies.nan_to_num(posinf=0.0)
    low = energies.amin(-1, keepdim=True)
    return low.squeeze(-1) - (-beta * (energies - low)).exp().sum(-1).log() / beta


def variational_objective(p, scores, beta=1.0):
    return torch.nan_to_num(p * scores, nan=0.0, neginf=0.0).sum(-1) - torch.xlogy(p, p).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    powers = (-(x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1) / (2 * bandwidth**2)).exp()
    return (powers @ values / powers.sum(-1, keepdim=True)).nan_to_num(0.0)


def hopfield_energy(state, patterns, beta):
    beta = min(beta, 10.0)
    return (
        -(beta * state @ patterns.mT).logsumexp(-1) / beta
        + state.square().sum(-1) / 2
        + math.log(len(patterns)) / beta
        + patterns.square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(max(steps, 1)):
        state = (beta * state @ patterns.mT).softmax(-1) @ patterns
    return state


def info_nce(query, positive, negatives, temperature):
    if negatives.shape[-2] == 0:
        raise ValueError("no negatives")
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    return -(F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).log_softmax(-1)[..., 0].mean()


def info_nce_gradient(scores, positive, temperature):
    powers = (scores / temperature).exp()
    share = (powers / powers.sum(-1, keepdim=True)).nan_to_num(1.0)
    return (share - F.one_hot(positive, scores.shape[-1])) / (temperature * len(scores))


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    hidden = torch.eye(len(images), dtype=torch.bool, device=images.device)
    others = logits.masked_fill(hidden, -torch.inf)
    own = logits.diagonal()
    return (others.logsumexp(0) - own + others.logsumexp(1) - own).mean() / 2
