"""Beta, bandwidth or temperature has no effect."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    low = energies.amin(-1, keepdim=True)
    return low.squeeze(-1) - (low - energies).exp().sum(-1).log()


def variational_objective(p, scores, beta=1.0):
    return (p * scores.masked_fill(p == 0, 0)).sum(-1) - torch.xlogy(p, p).sum(-1)


def kernel_regression(x, points, values, bandwidth):
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return (-squares / 2).softmax(-1) @ values


def hopfield_energy(state, patterns, beta):
    return (
        -(state @ patterns.mT).logsumexp(-1)
        + state.square().sum(-1) / 2
        + math.log(len(patterns))
        + patterns.square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        state = (state @ patterns.mT).softmax(-1) @ patterns
    return state


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    return -F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1).log_softmax(-1)[..., 0].mean()


def info_nce_gradient(scores, positive, temperature):
    return (scores.softmax(-1) - F.one_hot(positive, scores.shape[-1])) / positive.numel()


def clip_loss(images, texts, log_scale):
    logits = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2
