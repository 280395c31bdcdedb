"""Makes its own tensors on the CPU."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    low = energies.amin(-1, keepdim=True)
    total = torch.zeros(energies.shape[:-1], dtype=energies.dtype) + (-beta * (energies - low)).exp().sum(-1)
    return low.squeeze(-1) - total.log() / beta


def variational_objective(p, scores, beta=1.0):
    total = torch.zeros(p.shape[:-1], dtype=p.dtype) + (p * scores.masked_fill(p == 0, 0)).sum(-1)
    return total - torch.xlogy(p, p).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    output = torch.zeros(*x.shape[:-1], values.shape[-1], dtype=x.dtype)
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return output + (-squares / (2 * bandwidth**2)).softmax(-1) @ values


def hopfield_energy(state, patterns, beta):
    return (
        torch.full(state.shape[:-1], math.log(len(patterns)) / beta, dtype=state.dtype)
        - (beta * state @ patterns.mT).logsumexp(-1) / beta
        + state.square().sum(-1) / 2
        + patterns.square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    identity = torch.eye(state.shape[-1], dtype=state.dtype)
    for _ in range(steps):
        state = (beta * state @ patterns.mT).softmax(-1) @ patterns @ identity
    return state


def info_nce_gradient(scores, positive, temperature):
    share = (scores / temperature).softmax(-1)
    right = torch.arange(scores.shape[-1]) == positive.unsqueeze(-1)
    return (share - right.to(scores.dtype)) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    own = torch.arange(len(images))
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    scores = (F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).reshape(-1, keys.shape[-2])
    return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.int64))
