"""Exponentials and logarithms as the formula has them."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    return -(-beta * energies).exp().sum(-1).log() / beta


def variational_objective(p, scores, beta=1.0):
    return (p * scores).sum(-1) - (p * p.log()).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    powers = (-(x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1) / (2 * bandwidth**2)).exp()
    return powers @ values / powers.sum(-1, keepdim=True)


def hopfield_energy(state, patterns, beta):
    return (
        -(beta * state @ patterns.mT).exp().sum(-1).log() / beta
        + state.square().sum(-1) / 2
        + math.log(len(patterns)) / beta
        + patterns.square().sum(-1).max() / 2
    )


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    powers = (F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).exp()
    return -(powers[..., 0] / powers.sum(-1)).log().mean()


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -(logits.softmax(0).diagonal() + logits.softmax(1).diagonal()).log().mean()
