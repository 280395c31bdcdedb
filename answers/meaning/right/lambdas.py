"""Lambdas, one-liners, objects that can be called, decorated functions, extra defaults."""

import functools
import math
from typing import NamedTuple

import torch
from torch import nn

skip_gram_pairs = (  # noqa: E731
    lambda ids, window: torch.tensor(
        [
            [c, o]
            for i, c in enumerate(ids.tolist())
            for o in ids[max(i - window, 0) : i].tolist() + ids[i + 1 : i + 1 + window].tolist()
        ],
        dtype=torch.long,
    ).reshape(-1, 2)
)


class Noise:
    def __call__(self, counts, shape, generator, power=0.75, *, device=None):
        logs = power * counts.double().log()
        p = torch.softmax(logs, 0).float()
        return torch.multinomial(p, math.prod(shape), True, generator=generator).unflatten(0, tuple(shape))


negative_samples = Noise()


def noted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        inner.calls += 1
        return function(*args, **kwargs)

    inner.calls = 0
    return inner


@noted
def negative_sampling_loss(centre, context, negatives):
    near, far = (centre * context).sum(-1), (negatives * centre[..., None, :]).sum(-1)
    return (nn.Softplus()(-near).mean() + nn.functional.softplus(far).sum() / near.numel()).squeeze()


class Gradients(NamedTuple):
    centre: torch.Tensor
    context: torch.Tensor
    negatives: torch.Tensor


@noted
def negative_sampling_gradient(centre, context, negatives, count=None):
    count = count or centre[..., 0].numel()
    g = ((centre * context).sum(-1, True).sigmoid() - 1) / count
    h = (negatives * centre[..., None, :]).sum(-1, True).sigmoid() / count
    return Gradients(g * context + (h.mT @ negatives).squeeze(-2), g * centre, h * centre[..., None, :])


analogy = (  # noqa: E731
    lambda vectors, a, b, c, n=1: (
        lambda u: sorted(
            set(range(len(u))) - {a, b, c}, key=lambda w: (-round(float(u[w] @ (u[b] - u[a] + u[c])), 9), w)
        )[:n]
    )(torch.nan_to_num(vectors.double() / vectors.double().norm(dim=1, keepdim=True)))
)


class Probe:
    def __init__(self, x, y, ridge):
        self.x, self.y = x.mean(0), y.mean(0)
        x, y = x - self.x, y - self.y
        # by as many equations as there are examples, not components
        self.w = x.T @ torch.linalg.solve(x @ x.T + ridge * torch.eye(len(x), dtype=x.dtype, device=x.device), y)

    def __call__(self, x):
        return self.y + (x - self.x) @ self.w


def linear_probe(train_x, train_y, test_x, n_classes, ridge=1.0):
    classes = torch.arange(n_classes, device=train_y.device)
    return Probe(train_x, (train_y[:, None] == classes).to(train_x.dtype), ridge)(test_x)


attention_rollout = lambda weights: functools.reduce(  # noqa: E731
    lambda below, layer: (layer.mean(-3) @ below + below) / 2,
    weights,
    torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device),
)
