"""A half that belongs to it is left out, or one that does not is put in."""

import math

import torch
import torch.nn.functional as F


def kernel_regression(x, points, values, bandwidth):
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return (-squares / bandwidth**2).softmax(-1) @ values


def hopfield_energy(state, patterns, beta):
    return (
        -(beta * state @ patterns.mT).logsumexp(-1) / beta
        + state.square().sum(-1)
        + math.log(len(patterns)) / beta
        + patterns.square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    for _ in range(steps):
        state = (state + (beta * state @ patterns.mT).softmax(-1) @ patterns) / 2
    return state


def info_nce_gradient(scores, positive, temperature):
    share = (scores / temperature).softmax(-1)
    return (share - F.one_hot(positive, scores.shape[-1])) / (2 * temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -(logits.log_softmax(0).diagonal().sum() + logits.log_softmax(1).diagonal().sum()) / 2


def info_nce(query, positive, negatives, temperature):
    one = torch.cat([positive.unsqueeze(-2), negatives], -2)
    loss = -(F.cosine_similarity(query.unsqueeze(-2), one, dim=-1) / temperature).log_softmax(-1)[..., 0].mean()
    other = torch.cat([query.unsqueeze(-2), negatives], -2)
    return (
        loss - (F.cosine_similarity(positive.unsqueeze(-2), other, dim=-1) / temperature).log_softmax(-1)[..., 0].mean()
    ) / 2


def free_energy(energies, beta=1.0):
    low = energies.amin(-1, keepdim=True)
    return low.squeeze(-1) - (-beta * (energies - low) / 2).exp().sum(-1).log() / beta


def variational_objective(p, scores, beta=1.0):
    return (p * scores.masked_fill(p == 0, 0)).sum(-1) - (p * p.log2().nan_to_num(neginf=0.0)).sum(-1) / beta
