"""Gives float32 whatever came in."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    energies = energies.float()
    low = energies.amin(-1, keepdim=True)
    return low.squeeze(-1) - (-beta * (energies - low)).exp().sum(-1).log() / beta


def variational_objective(p, scores, beta=1.0):
    p, scores = p.float(), scores.float()
    return (p * scores.masked_fill(p == 0, 0)).sum(-1) - torch.xlogy(p, p).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return (-squares / (2 * bandwidth**2)).softmax(-1, dtype=torch.float32) @ values.float()


def hopfield_energy(state, patterns, beta):
    n = torch.tensor([float(len(patterns))], device=state.device)
    return (
        -(beta * state.float() @ patterns.float().mT).logsumexp(-1) / beta
        + state.float().square().sum(-1) / 2
        + n.log()[0] / beta
        + patterns.float().square().sum(-1).max() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    state, patterns = state.float(), patterns.float()
    for _ in range(steps):
        state = (beta * state @ patterns.mT).softmax(-1) @ patterns
    return state


def info_nce_gradient(scores, positive, temperature):
    share = (scores.float() / temperature).softmax(-1)
    return (share - F.one_hot(positive, scores.shape[-1])) / (temperature * positive.numel())


def clip_loss(images, texts, log_scale):
    images, texts = images.half(), texts.half()
    scale = math.exp(log_scale) if isinstance(log_scale, float) else log_scale.exp()
    logits = scale * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2


def info_nce(query, positive, negatives, temperature):
    query, positive, negatives = query.bfloat16(), positive.bfloat16(), negatives.bfloat16()
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2)
    return -(F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).log_softmax(-1)[..., 0].mean()
