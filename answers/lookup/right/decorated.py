"""Decorated functions with helpers, type hints and extra arguments that have defaults."""

import functools

import torch
from torch import Tensor, nn


def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        print("calling", function.__name__)
        return function(*args, **kwargs)

    return inner


@logged
def softmax(scores: Tensor, dim: int, temperature: float = 1.0) -> Tensor:
    return normalised(torch.exp((scores - row_max(scores, dim)) / temperature), dim)


def row_max(scores: Tensor, dim: int) -> Tensor:
    return scores.max(dim=dim, keepdim=True).values


def normalised(powers: Tensor, dim: int) -> Tensor:
    return powers / powers.sum(dim=dim, keepdim=True)


@logged
def similarity_scores(q: Tensor, k: Tensor, *, scale: float = 1.0) -> Tensor:
    return scale * (q @ k.transpose(-1, -2))


@logged
def soft_lookup(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = similarity_scores(q, k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return softmax(scores, dim=-1) @ v


class SelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64), persistent=False)

    def project(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(projection(x) for projection in (self.q_proj, self.k_proj, self.v_proj))

    @logged
    def forward(self, x: Tensor, keep_count: bool = True) -> Tensor:
        if keep_count:
            self.calls += 1
        return soft_lookup(*self.project(x))
