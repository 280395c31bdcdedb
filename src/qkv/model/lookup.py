"""Lookup: a query takes a weighted average of the values, weighted by how well the keys match.

Bahdanau et al. 2015 (soft alignment); Vaswani et al. 2017, section 3.2. Shapes: see model/__init__.py.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from qkv.model.expect import expects


@expects(scores="...")
def softmax(scores: Tensor, dim: int) -> Tensor:
    """Turn scores into positive weights that sum to 1 along one dimension.

    Args:
        scores: any numbers (...), as large as ±1e4. Beside finite ones,
            -inf gets the weight 0.
        dim: the dimension along which the weights sum to 1.

    Returns:
        weights (...), the shape of scores.

    To be written without torch's own softmax.
    """
    highest = scores.amax(dim=dim, keepdim=True)
    powers = torch.exp(scores - highest)  # the largest power is exp(0) = 1: nothing overflows
    return powers / powers.sum(dim=dim, keepdim=True)


@expects(q="... query d_k", k="... key d_k")
def similarity_scores(q: Tensor, k: Tensor) -> Tensor:
    """Compare every query with every key by their dot product.

    Args:
        q: queries (..., query, d_k).
        k: keys (..., key, d_k).

    Returns:
        scores (..., query, key): entry (i, j) is query i times key j.
    """
    return q @ k.transpose(-2, -1)


@expects(q="... query d_k", k="... key d_k", v="... key d_v")
def soft_lookup(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Look every query up among the keys; answer with an average of values.

    Args:
        q: queries (..., query, d_k).
        k: keys (..., key, d_k).
        v: values (..., key, d_v), one for each key.

    Returns:
        output (..., query, d_v): for each query the average of all values,
            weighted by the softmax of its scores over the keys.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    weights = softmax(similarity_scores(q, k), dim=-1)  # (..., query, key), over keys
    return weights @ v


class SelfAttention(nn.Module):
    """Let every element of a sequence look up all elements, itself included.

    Queries, keys and values are three projections of the sequence.

    Args:
        d_model: width of the sequence's vectors.
        d_k: width of queries and keys.
        d_v: width of values, and of the output.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(d_model="positive", d_k="positive", d_v="positive")
    def __init__(self, d_model: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias=False)
        self.k_proj = nn.Linear(d_model, d_k, bias=False)
        self.v_proj = nn.Linear(d_model, d_v, bias=False)

    @expects(x="... seq d_model")
    def forward(self, x: Tensor) -> Tensor:
        """Attend from every element to every element, without scaling.

        Args:
            x: a sequence of vectors (..., seq, d_model).

        Returns:
            output (..., seq, d_v).
        """
        return soft_lookup(self.q_proj(x), self.k_proj(x), self.v_proj(x))
