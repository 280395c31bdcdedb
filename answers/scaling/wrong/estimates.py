"""A simulation instead of a formula, a Gini index instead of an entropy, a finite difference that is too coarse."""

import torch


def score_variance(d, sigma, mean=0.0):
    g = torch.Generator().manual_seed(0)
    q, k = (mean + sigma * torch.randn(2, 20000, d, generator=g)).unbind()
    return (q * k).sum(-1).var().item()


def softmax_jacobian(p):
    scores, step = p.clamp_min(1e-30).log(), 0.1
    columns = []
    for j in range(p.shape[-1]):
        moved = scores.clone()
        moved[..., j] += step
        columns.append((moved.softmax(-1) - p) / step)
    return torch.stack(columns, dim=-1)


def attention_entropy(weights):
    return 1 - (weights**2).sum(-1)
