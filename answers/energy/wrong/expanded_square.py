"""The square of a difference multiplied out, which loses digits far from 0; and formulas that look alike."""

import math

import torch
import torch.nn.functional as F


def kernel_regression(x, points, values, bandwidth):
    squares = x.square().sum(-1, keepdim=True) - 2 * x @ points.mT + points.square().sum(-1).unsqueeze(-2)
    return (-squares / (2 * bandwidth**2)).softmax(-1) @ values


def free_energy(energies, beta=1.0):
    return -torch.logsumexp(-beta * energies, -1) / beta


def variational_objective(p, scores, beta=1.0):
    best = (beta * scores).softmax(-1)
    divergence = (torch.xlogy(p, p) - torch.xlogy(p, best)).sum(-1)
    return (scores.logsumexp(-1) - divergence) / beta


def hopfield_energy(state, patterns, beta):
    longest = patterns.square().sum(-1)
    scores = beta * state @ patterns.mT
    return (
        -scores.logsumexp(-1) / beta + state.square().sum(-1) / 2 + math.log(len(patterns)) / beta + longest.mean() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    patterns = F.normalize(patterns, dim=-1)
    for _ in range(steps):
        state = (beta * state @ patterns.mT).softmax(-1) @ patterns
    return state


def info_nce(query, positive, negatives, temperature):
    own = torch.sigmoid(F.cosine_similarity(query, positive, dim=-1) / temperature).log()
    others = torch.sigmoid(-F.cosine_similarity(query.unsqueeze(-2), negatives, dim=-1) / temperature).log()
    return -(own + others.sum(-1)).mean()


def info_nce_gradient(scores, positive, temperature):
    share = torch.sigmoid(scores / temperature)
    return (share - F.one_hot(positive, scores.shape[-1])) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    signs = 2 * torch.eye(len(images), device=images.device, dtype=images.dtype) - 1
    return -F.logsigmoid(signs * logits).sum() / len(images)
