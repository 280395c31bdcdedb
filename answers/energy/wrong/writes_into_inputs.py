"""Right numbers, but what was given is changed."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    low = energies.amin(-1, keepdim=True)
    with torch.no_grad():
        energies.sub_(low)
    return low.squeeze(-1) - (-beta * energies).exp().sum(-1).log() / beta


def variational_objective(p, scores, beta=1.0):
    with torch.no_grad():
        scores[p == 0] = 0
    return (p * scores).sum(-1) - torch.xlogy(p, p).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    with torch.no_grad():
        x /= bandwidth
        points /= bandwidth
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return (-squares / 2).softmax(-1) @ values


def hopfield_energy(state, patterns, beta):
    energy = (
        -(beta * state @ patterns.mT).logsumexp(-1) / beta
        + state.square().sum(-1) / 2
        + math.log(len(patterns)) / beta
        + patterns.square().sum(-1).max() / 2
    )
    with torch.no_grad():
        patterns.mul_(beta)
    return energy


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        state.data = ((beta * state @ patterns.mT).softmax(-1) @ patterns).data
    return state * 1


def info_nce(query, positive, negatives, temperature):
    with torch.no_grad():
        query.div_(query.norm(dim=-1, keepdim=True))
        positive.div_(positive.norm(dim=-1, keepdim=True))
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    return -(F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).log_softmax(-1)[..., 0].mean()


def info_nce_gradient(scores, positive, temperature):
    scores /= temperature
    share = scores.softmax(-1)
    return (share - F.one_hot(positive, scores.shape[-1])) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    with torch.no_grad():
        images.copy_(F.normalize(images, dim=-1))
        texts.copy_(F.normalize(texts, dim=-1))
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * images @ texts.T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2
