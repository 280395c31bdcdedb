"""Computes in float32 whatever comes in, and gives back what came."""

import torch


def free_energy(energies, beta=1.0):
    e = energies.float()
    highest = (-beta * e).amax(-1, keepdim=True)
    result = -(highest.squeeze(-1) + ((-beta * e) - highest).exp().sum(-1).log()) / beta
    return result.to(energies.dtype)


def variational_objective(p, scores, beta=1.0):
    q, s = p.float(), scores.float()
    there = q > 0
    safe = torch.where(there, q, torch.ones_like(q))
    s = torch.where(there, s, torch.zeros_like(s))
    terms = torch.where(there, q * s - q * safe.log() / beta, q * s)
    return terms.sum(-1).to(p.dtype)


def kernel_regression(x, points, values, bandwidth):
    a, b, v = x.float(), points.float(), values.float()
    parts = []
    for i in range(a.shape[-2]):
        squares = (a[..., i : i + 1, :] - b).square().sum(-1)
        parts.append((-squares / (2 * bandwidth * bandwidth)).softmax(-1).unsqueeze(-2) @ v)
    return torch.cat(parts, -2).to(x.dtype)


def hopfield_energy(state, patterns, beta):
    s, x = state.float(), patterns.float()
    scores = beta * (s @ x.mT)
    top = scores.amax(-1)
    log_mean = top + (scores - top.unsqueeze(-1)).exp().mean(-1).log()
    return (-log_mean / beta + (s.square().sum(-1) + x.square().sum(-1).max()) / 2).to(state.dtype)


def hopfield_retrieve(state, patterns, beta, steps=1):
    s, x = state.float(), patterns.float()
    for _ in range(steps):
        s = torch.einsum("...n,nd->...d", (beta * torch.einsum("...d,nd->...n", s, x)).softmax(-1), x)
    return s.to(state.dtype)


def info_nce(query, positive, negatives, temperature):
    keys = torch.cat([positive.unsqueeze(-2), negatives], -2).float()
    q = query.float().unsqueeze(-2)
    scores = (q * keys).sum(-1) / (q.norm(dim=-1) * keys.norm(dim=-1)) / temperature
    return (scores.logsumexp(-1) - scores[..., 0]).mean().to(query.dtype)


def info_nce_gradient(scores, positive, temperature):
    gradient = (scores.float() / temperature).softmax(-1)
    flat = gradient.reshape(-1, gradient.shape[-1]).clone()
    flat[torch.arange(len(flat), device=flat.device), positive.reshape(-1)] -= 1
    return (flat / (temperature * len(flat))).reshape(scores.shape).to(scores.dtype)


def clip_loss(images, texts, log_scale):
    a, b = (t.float() / t.float().norm(dim=-1, keepdim=True) for t in (images, texts))
    logits = torch.exp(torch.as_tensor(log_scale, dtype=torch.float32, device=images.device)) * (a @ b.T)
    rows, columns = logits.log_softmax(1), logits.log_softmax(0)
    each = torch.eye(len(a), dtype=torch.bool, device=a.device)
    return (-(rows[each] + columns[each]).mean() / 2).to(images.dtype)
