"""One of two parts is missing."""

import math

import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    return energies.amin(-1)


def variational_objective(p, scores, beta=1.0):
    return (p * scores.masked_fill(p == 0, 0)).sum(-1)


def kernel_regression(x, points, values, bandwidth):
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return values.gather(-2, squares.argmin(-1, keepdim=True).expand(*squares.shape[:-1], values.shape[-1]))


def hopfield_energy(state, patterns, beta):
    return (
        -(beta * state @ patterns.mT).logsumexp(-1) / beta
        + math.log(len(patterns)) / beta
        + patterns.square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    return patterns[(beta * state @ patterns.mT).argmax(-1)]


def info_nce(query, positive, negatives, temperature):
    own = F.cosine_similarity(query, positive, dim=-1) / temperature
    others = F.cosine_similarity(query.unsqueeze(-2), negatives, dim=-1) / temperature
    return (others.logsumexp(-1) - own).mean()


def info_nce_gradient(scores, positive, temperature):
    return (scores / temperature).softmax(-1) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -logits.log_softmax(1).diagonal().mean()
