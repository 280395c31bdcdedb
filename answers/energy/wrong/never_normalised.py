"""Dot products for cosines, sums for averages, p made to sum to 1."""

import math

import torch


def variational_objective(p, scores, beta=1.0):
    p = p / p.sum(-1, keepdim=True)
    return (p * scores.masked_fill(p == 0, 0)).sum(-1) - torch.xlogy(p, p).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return (-squares / (2 * bandwidth**2)).exp() @ values


def hopfield_energy(state, patterns, beta):
    return -(beta * state @ patterns.mT).logsumexp(-1) / beta + state.square().sum(-1) / 2


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        state = torch.sign((beta * state @ patterns.mT).softmax(-1) @ patterns)
    return state


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    return -((query.unsqueeze(-2) * keys).sum(-1) / temperature).log_softmax(-1)[..., 0].mean()


def info_nce_gradient(scores, positive, temperature):
    powers = (scores / temperature).exp()
    right = torch.nn.functional.one_hot(positive, scores.shape[-1])
    return (powers - right) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * images @ texts.T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2


def free_energy(energies, beta=1.0):
    low = energies.amin(-1, keepdim=True)
    weights = (-beta * (energies - low)).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return (weights * energies).sum(-1)
