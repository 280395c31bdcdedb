"""A small number added so that nothing is 0."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    low = energies.amin(-1, keepdim=True)
    return low.squeeze(-1) - ((-beta * (energies - low)).exp().sum(-1) + 1e-2).log() / beta


def variational_objective(p, scores, beta=1.0):
    return (p * scores.clamp(min=-1e4)).sum(-1) - (p * (p + 1e-2).log()).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    powers = (-(x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1) / (2 * bandwidth**2)).exp()
    return powers @ values / (powers.sum(-1, keepdim=True) + 1e-8)


def hopfield_energy(state, patterns, beta):
    return (
        -((beta * state @ patterns.mT).exp().sum(-1) + 1e-8).log() / beta
        + state.square().sum(-1) / 2
        + math.log(len(patterns)) / beta
        + patterns.square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        state = F.normalize((beta * state @ patterns.mT).softmax(-1) @ patterns, dim=-1)
    return state


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    shares = (F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).softmax(-1)
    return -(shares[..., 0] + 1e-3).log().mean()


def info_nce_gradient(scores, positive, temperature):
    share = (scores / temperature).softmax(-1)
    return (share - F.one_hot(positive, scores.shape[-1])) / (temperature * positive.numel() + 1e-1)


def clip_loss(images, texts, log_scale):
    scale = min(math.exp(log_scale), 5.0) if isinstance(log_scale, float) else log_scale.exp().clamp(max=5.0)
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2
