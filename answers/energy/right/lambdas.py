"""Lambdas, objects that can be called, decorated functions, extra defaults."""

import functools
import math

import torch
import torch.nn.functional as F


class Boltzmann:
    def __call__(self, energies, beta=1.0, *, dim=-1):
        lowest = energies.amin(dim)
        return lowest - torch.log(torch.exp(beta * (lowest.unsqueeze(dim) - energies)).sum(dim)) / beta


free_energy = Boltzmann()

variational_objective = lambda p, scores, beta=1.0: (  # noqa: E731
    torch.where(p == 0, torch.zeros_like(p), p * (scores - p.log() / beta)).sum(-1)
    if not (p == 0).any()
    else ((p * scores.masked_fill(p == 0, 0)) - torch.xlogy(p, p) / beta).sum(-1)
)


def noted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        inner.calls += 1
        return function(*args, **kwargs)

    inner.calls = 0
    return inner


@noted
def kernel_regression(x, points, values, bandwidth):
    z = (x[..., :, None, :] - points[..., None, :, :]) / bandwidth
    logs = -0.5 * (z * z).sum(-1)
    weights = (logs - logs.amax(-1, keepdim=True)).exp()
    return (weights @ values) / weights.sum(-1, keepdim=True)


hopfield_energy = lambda state, patterns, beta: (  # noqa: E731
    (state * state).sum(-1) / 2
    + patterns.pow(2).sum(-1).max() / 2
    - ((beta * (state @ patterns.T)).logsumexp(-1) - math.log(patterns.shape[0])) / beta
)


class Memory:
    def __init__(self, patterns, beta):
        self.patterns, self.beta = patterns, beta

    def step(self, state):
        return (self.beta * state @ self.patterns.mT).softmax(-1) @ self.patterns


def hopfield_retrieve(state, patterns, beta, steps=1):
    return functools.reduce(lambda s, _: Memory(patterns, beta).step(s), range(steps), state)


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


def info_nce(query, positive, negatives, temperature):
    own = (unit(query) * unit(positive)).sum(-1) / temperature
    others = (unit(negatives) @ unit(query).unsqueeze(-1)).squeeze(-1) / temperature
    return F.softplus(torch.logsumexp(others, -1) - own).mean() if others.shape[-1] else own.sum() * 0


def minus_one_hot(shares, right):
    return shares - (torch.arange(shares.shape[-1], device=shares.device) == right[..., None]).to(shares.dtype)


info_nce_gradient = lambda s, right, t: minus_one_hot((s / t).softmax(-1), right) / t / math.prod(right.shape)  # noqa: E731


@noted
def clip_loss(images, texts, log_scale, reduction="mean"):
    logits = unit(images) @ unit(texts).mT
    logits = logits * (log_scale.exp() if torch.is_tensor(log_scale) else math.e**log_scale)
    own = logits.diag()
    losses = logits.logsumexp(0) + logits.logsumexp(1) - own - own
    return 0.5 * getattr(losses, reduction)()
