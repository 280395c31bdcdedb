"""Right numbers without their gradient."""

import math

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    low = energies.detach().amin(-1, keepdim=True)
    return low.squeeze(-1) - (-beta * (energies.detach() - low)).exp().sum(-1).log() / beta


def variational_objective(p, scores, beta=1.0):
    entropy = -torch.xlogy(p, p).sum(-1).detach()
    return (p * scores.masked_fill(p == 0, 0)).sum(-1) + entropy / beta


def kernel_regression(x, points, values, bandwidth):
    squares = (x.unsqueeze(-2) - points.unsqueeze(-3)).square().sum(-1)
    return (-squares / (2 * bandwidth**2)).softmax(-1).detach() @ values


def hopfield_energy(state, patterns, beta):
    return (
        -(beta * state @ patterns.mT).logsumexp(-1) / beta
        + state.square().sum(-1) / 2
        + math.log(len(patterns)) / beta
        + patterns.square().sum(-1).max().item() / 2
    )


def hopfield_retrieve(state, patterns, beta, steps=1):
    for step in range(steps):
        if step < steps - 1:
            with torch.no_grad():
                state = (beta * state @ patterns.mT).softmax(-1) @ patterns
        else:
            state = (beta * state @ patterns.mT).softmax(-1) @ patterns
    return state


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives.detach()], -2)
    return -(F.cosine_similarity(query.unsqueeze(-2), keys, dim=-1) / temperature).log_softmax(-1)[..., 0].mean()


def clip_loss(images, texts, log_scale):
    logits = math.exp(float(log_scale)) * F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return -(logits.log_softmax(0).diagonal().mean() + logits.log_softmax(1).diagonal().mean()) / 2


def info_nce_gradient(scores, positive, temperature):
    rows = scores.reshape(-1, scores.shape[-1]).tolist()
    found = []
    for row, right in zip(rows, positive.reshape(-1).tolist(), strict=True):
        powers = [math.exp(s / temperature) for s in row]
        found.append([(p / sum(powers) - (i == right)) / temperature for i, p in enumerate(powers)])
    return torch.tensor(found).reshape(scores.shape)
