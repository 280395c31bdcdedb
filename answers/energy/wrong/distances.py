"""Another similarity: Euclidean distances for cosines and dot products, lengths for squares."""

import math

import torch
import torch.nn.functional as F


def kernel_regression(x, points, values, bandwidth):
    lengths = (x.unsqueeze(-2) - points.unsqueeze(-3)).abs().sum(-1)
    return (-lengths / bandwidth).softmax(-1) @ values


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        squares = (state.unsqueeze(-2) - patterns).square().sum(-1)
        state = (-beta * squares / 2).softmax(-1) @ patterns
    return state


def hopfield_energy(state, patterns, beta):
    squares = (state.unsqueeze(-2) - patterns).square().sum(-1)
    return -(-beta * squares / 2).logsumexp(-1) / beta + math.log(len(patterns)) / beta


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    return -(-(query.unsqueeze(-2) - keys).norm(dim=-1) / temperature).log_softmax(-1)[..., 0].mean()


def info_nce_gradient(scores, positive, temperature):
    scores = scores / scores.norm(dim=-1, keepdim=True)
    share = (scores / temperature).softmax(-1)
    return (share - F.one_hot(positive, scores.shape[-1])) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = -scale * (images[:, None] - texts[None]).square().sum(-1)
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2


def variational_objective(p, scores, beta=1.0):
    gini = 1 - p.square().sum(-1)
    return (p * scores.masked_fill(p == 0, 0)).sum(-1) + gini / beta


def free_energy(energies, beta=1.0):
    return (energies.abs() ** -beta).sum(-1) ** (-1 / beta)
