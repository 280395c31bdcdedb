"""torch's own functions wherever they are allowed, torch.special, cdist by differences, cross_entropy."""

import torch
import torch.nn.functional as F


def free_energy(energies, beta=1.0):
    shift = torch.min(energies, dim=-1, keepdim=True).values.detach()
    return shift[..., 0] - torch.exp((shift - energies) * beta).sum(-1).log() / beta


def variational_objective(p, scores, beta=1.0):
    gained = torch.where(p > 0, p * torch.where(p > 0, scores, torch.zeros_like(scores)), torch.zeros_like(p))
    return gained.sum(-1) + torch.special.entr(p).sum(-1) / beta


def kernel_regression(x, points, values, bandwidth):
    centre = points.mean(-2, keepdim=True)
    a, b = x - centre, points - centre
    squares = a.square().sum(-1, keepdim=True) - 2 * a @ b.mT + b.square().sum(-1).unsqueeze(-2)
    return F.softmax(squares / (-2 * bandwidth**2), dim=-1) @ values


def hopfield_energy(state, patterns, beta):
    log_mean = (
        torch.logsumexp(beta * state @ patterns.mT, -1)
        - torch.tensor(float(len(patterns)), dtype=state.dtype, device=state.device).log()
    )
    return -log_mean / beta + 0.5 * torch.einsum("...d,...d->...", state, state) + patterns.norm(dim=-1).max() ** 2 / 2


def hopfield_retrieve(state, patterns, beta, steps=1):
    while steps > 0:
        state = F.linear(F.softmax(beta * F.linear(state, patterns), dim=-1), patterns.T)
        steps -= 1
    return state


def info_nce(query, positive, negatives, temperature):
    own = F.cosine_similarity(query, positive, dim=-1).unsqueeze(-1)
    others = F.cosine_similarity(query.unsqueeze(-2), negatives, dim=-1)
    logits = torch.cat([others, own], dim=-1) / temperature  # the right one last
    logits = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(logits, torch.full((len(logits),), logits.shape[-1] - 1, device=logits.device))


def info_nce_gradient(scores, positive, temperature):
    gradient = torch.softmax(scores / temperature, -1)
    gradient = gradient.scatter_add(-1, positive.unsqueeze(-1), torch.full_like(gradient[..., :1], -1.0))
    return gradient / temperature / positive.numel()


def clip_loss(images, texts, log_scale):
    log_scale = torch.as_tensor(log_scale, device=images.device)
    logits = (F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T) * log_scale.exp().to(images.dtype)
    labels = torch.arange(len(images), device=images.device)
    return F.cross_entropy(logits, labels) / 2 + F.cross_entropy(logits.T, labels) / 2
