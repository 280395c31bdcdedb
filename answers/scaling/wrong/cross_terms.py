"""The cross terms counted, though everything is independent; a mean subtracted that is not there."""

import torch
from torch import Tensor


def score_variance(d: int, sigma: float, mean: float = 0.0) -> float:
    per_component = sigma**4 + 2 * mean**2 * sigma**2
    covariance = mean**2 * sigma**2
    return d * per_component + d * (d - 1) * covariance


def softmax_jacobian(p: Tensor) -> Tensor:
    centred = p - p.mean(dim=-1, keepdim=True)
    return torch.diag_embed(p) - centred.unsqueeze(-1) * centred.unsqueeze(-2)


def attention_entropy(weights: Tensor) -> Tensor:
    n = weights.shape[-1]
    uniform = 1.0 / n
    ratio = torch.where(weights > 0, weights / uniform, torch.ones_like(weights))
    return (weights * ratio.log()).sum(dim=-1)


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    scores = (q - q.mean(-1, keepdim=True)) @ (k - k.mean(-1, keepdim=True)).transpose(-2, -1)
    scores = scores / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ v, weights
