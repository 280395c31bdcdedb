"""Named tuples, helpers, decorated functions."""

import functools
from typing import NamedTuple

import torch


class Moments(NamedTuple):
    p: torch.Tensor
    m: torch.Tensor
    v: torch.Tensor


class Clipped(NamedTuple):
    gradients: list
    norm: torch.Tensor


class Outcome(NamedTuple):
    gradients: list | None
    scale: float
    good_steps: int


def noted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@noted
def adam_step(p, grad, m, v, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    def remember(old, new, beta):
        kept = beta * old + (1 - beta) * new
        return kept, kept / (1 - beta**step)

    m, direction = remember(m, grad, beta1)
    v, energy = remember(v, grad * grad, beta2)
    return Moments(p - rate * direction / (energy.sqrt() + eps), m, v)


@noted
def clip_gradients(grads, max_norm):
    flat = torch.cat([g.reshape(-1) for g in grads])
    norm = torch.linalg.vector_norm(flat)
    shrink = torch.where(norm > max_norm, max_norm / norm, torch.ones_like(norm))
    parts = (flat * shrink).split([g.numel() for g in grads])
    return Clipped([part.view(g.shape) for part, g in zip(parts, grads, strict=True)], norm)


@noted
def scaled_backward(loss, parameters, scale, good_steps=0, interval=2000):
    raw = torch.autograd.grad(loss * scale, list(parameters))
    grads = [g.double().div(scale).float() for g in raw]
    fine = all(bool(torch.isfinite(g).all()) for g in grads)
    if not fine:
        return Outcome(None, scale / 2, 0)
    counted = (good_steps + 1) % interval
    return Outcome(grads, scale if counted else 2 * scale, counted)


@noted
def noam_rate(step, d_model, warmup):
    return torch.tensor([step**-0.5, step * warmup**-1.5], dtype=torch.float64).min() * d_model**-0.5
