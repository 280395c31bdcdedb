"""Scaling: keep the scores at a size where the softmax still listens.

Vaswani et al. 2017, section 3.2.1 and its footnote 4. Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from qkv.model.expect import expects
from qkv.model.lookup import similarity_scores, softmax


@expects(d="positive")
def score_variance(d: int, sigma: float, mean: float = 0.0) -> float:
    """Predict how far the dot product of a random query and key scatters.

    Args:
        d: how many components q (d,) and k (d,) have.
        sigma: standard deviation of each component.
        mean: mean of each component. All 2d components are independent.

    Returns:
        the variance of q·k, a number.
    """
    of_one_product = sigma**4 + 2 * mean**2 * sigma**2
    return d * of_one_product


@expects(p="... n")
def softmax_jacobian(p: Tensor) -> Tensor:
    """Say how much each weight moves when each score moves.

    Args:
        p: weights (..., n) as a softmax gave them; each row sums to 1.

    Returns:
        jacobian (..., n, n); entry (i, j) is the derivative of weight i with
        respect to score j.
    """
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)  # (..., n, n)


@expects(weights="... n")
def attention_entropy(weights: Tensor) -> Tensor:
    """Measure how widely rows are spread: 0 for one key, log n for n alike.

    Args:
        weights: weights (..., n); each row sums to 1 and may contain exact zeros,
            which count 0.

    Returns:
        entropy (...) in nats, one number for each row.
    """
    return -torch.xlogy(weights, weights).sum(dim=-1)  # xlogy has 0·log 0 = 0


@expects(q="... query d_k", k="... key d_k", v="... key d_v", mask="bool -> ... query key")
def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Average the values, weighted by how well each key matches the query.

    Args:
        q: queries (..., query, d_k).
        k: keys (..., key, d_k).
        v: values (..., key, d_v).
        mask: bool, broadcastable to (..., query, key). True means "may attend";
            every query may attend somewhere.

    Returns:
        output (..., query, d_v) and weights (..., query, key). Rows of weights
        sum to 1; a hidden key has weight 0.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    scores = similarity_scores(q, k) / math.sqrt(q.shape[-1])  # (..., query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores, dim=-1)  # over keys
    return weights @ v, weights
