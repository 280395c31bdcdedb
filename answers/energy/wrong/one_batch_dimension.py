"""Works for a batch of one dimension only."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    batch, _n = energies.shape
    low = energies.amin(1)
    return torch.stack([low[b] - (-beta * (energies[b] - low[b])).exp().sum().log() / beta for b in range(batch)])


def variational_objective(p, scores, beta=1.0):
    return torch.einsum("bn,bn->b", p, scores.masked_fill(p == 0, 0)) - torch.xlogy(p, p).sum(1) / beta


def kernel_regression(x, points, values, bandwidth):
    squares = (x[:, :, None] - points[:, None]).square().sum(3)
    return torch.bmm((-squares / (2 * bandwidth**2)).softmax(2), values)


def hopfield_energy(state, patterns, beta):
    scores = beta * torch.einsum("bd,nd->bn", state, patterns)
    return (
        -scores.logsumexp(1) / beta
        + state.square().sum(1) / 2
        + math.log(len(patterns)) / beta
        + patterns.square().sum(1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        weights = (beta * torch.einsum("bd,nd->bn", state, patterns)).softmax(1)
        state = torch.einsum("bn,nd->bd", weights, patterns)
    return state


def info_nce(query, positive, negatives, temperature):
    batch, _d = query.shape
    keys = torch.cat([positive[:, None], negatives], 1)
    scores = F.cosine_similarity(query[:, None], keys, dim=2) / temperature
    return F.cross_entropy(scores, torch.zeros(batch, dtype=torch.int64, device=query.device))


def info_nce_gradient(scores, positive, temperature):
    share = (scores / temperature).softmax(1)
    return (share - F.one_hot(positive, scores.shape[1])) / (temperature * len(scores))


def clip_loss(images, texts, log_scale):
    logits = log_scale.exp() * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2
