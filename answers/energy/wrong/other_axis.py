"""The right thing along the wrong dimension."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    low = energies.amin()
    return low - (-beta * (energies - low)).exp().sum().log() / beta


def variational_objective(p, scores, beta=1.0):
    return (p * scores.masked_fill(p == 0, 0) - torch.xlogy(p, p) / beta).sum()


def kernel_regression(x, points, values, bandwidth):
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return (-squares / (2 * bandwidth**2)).softmax(-2) @ values


def hopfield_energy(state, patterns, beta):
    return (
        -(beta * state @ patterns.mT).logsumexp(-1) / beta
        + state.square().sum(-1) / 2
        + math.log(patterns.shape[1]) / beta
        + patterns.square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        state = (beta * state @ patterns.mT).softmax(0) @ patterns
    return state


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    return -(F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).log_softmax(0)[..., 0].mean()


def info_nce_gradient(scores, positive, temperature):
    share = (scores / temperature).softmax(0)
    return (share - F.one_hot(positive, scores.shape[-1])) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=0) @ F.normalize(texts, dim=0).T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2
