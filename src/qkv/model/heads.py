"""Heads: several small attentions side by side, each with a view of its own, for the price of one.

Vaswani et al. 2017, section 3.2.2. Shapes: see model/__init__.py; d_head is d_model / n_heads.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.expect import expects
from qkv.model.scaling import scaled_dot_product_attention


@expects(x="batch seq d_model", n_heads="divides d_model")
def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the columns of every vector into equal blocks, one block for each head.

    Args:
        x: a batch of sequences (batch, seq, d_model).
        n_heads: number of heads; it divides d_model.

    Returns:
        heads (batch, head, seq, d_head). Head h holds x's columns from h·d_head
        up to, but not including, (h+1)·d_head.
    """
    blocks = x.unflatten(-1, (n_heads, -1))  # (batch, seq, head, d_head)
    return blocks.transpose(1, 2)


@expects(x="batch head seq d_head")
def merge_heads(x: Tensor) -> Tensor:
    """Put the blocks of all heads side by side again: the inverse of split_heads.

    Args:
        x: heads (batch, head, seq, d_head).

    Returns:
        a batch of sequences (batch, seq, d_model), d_model being head times d_head.
    """
    blocks = x.transpose(1, 2)  # (batch, seq, head, d_head)
    return blocks.flatten(-2)


class MultiHeadAttention(nn.Module):
    """Let several heads look at the same sequence, and mix what they find.

    Args:
        d_model: width of the vectors that come in and go out.
        n_heads: number of heads; it divides d_model.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(d_model="positive", n_heads="divides d_model")
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    @expects(
        query="batch query d_model", key="batch key d_model", value="batch key d_model", mask="bool -> batch query key"
    )
    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Attend from every query to every key in each head, and mix the answers.

        Args:
            query: what asks (batch, query, d_model).
            key: what is compared with it (batch, key, d_model).
            value: what is averaged (batch, key, d_model).
            mask: bool, broadcastable to (batch, query, key), the same for every head.
                True means "may attend".

        Returns:
            output (batch, query, d_model).
        """
        q, k, v = self._project(query, key, value)  # each (batch, head, ..., d_head)
        heads = self._attend(q, k, v, self._for_every_head(mask))
        return self._mix(heads)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        """One wide projection is n_heads narrow ones side by side."""
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        return self._split(q), self._split(k), self._split(v)

    def _split(self, x: Tensor) -> Tensor:
        return split_heads(x, self.n_heads)

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        """Make room for the heads, so that each of them meets the same mask."""
        if mask is None:
            return None
        return torch.atleast_2d(mask).unsqueeze(-3)  # (..., 1, query, key)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Every head by itself; its scale is √d_head, the width of its queries."""
        output, _ = scaled_dot_product_attention(q, k, v, mask)
        return output

    def _mix(self, heads: Tensor) -> Tensor:
        """Side by side, then mixed: every column of the output draws on all heads."""
        return self.out_proj(merge_heads(heads))


@expects(d_model="positive", n_heads="divides d_model")
def attention_parameters(d_model: int, n_heads: int, bias: bool = True) -> int:
    """Count the parameters of multi-head attention: its four projections.

    Args:
        d_model: width of the vectors that come in and go out.
        n_heads: number of heads; it divides d_model.
        bias: whether each projection adds a vector.

    Returns:
        the number of parameters, an int.
    """
    # n_heads cancels: so many matrices of d_model × d_head make one square
    projection = d_model * d_model + (d_model if bias else 0)
    return 4 * projection


@expects(weights="batch head query key")
def head_similarity(weights: Tensor) -> Tensor:
    """Measure how alike heads look: 1 if they attend alike, 0 if they share no key.

    Args:
        weights: attention weights (batch, head, query, key); no row is all 0.

    Returns:
        similarity (head, head): the cosine of two heads' rows at the same batch
        entry and query, averaged over both.
    """
    rows = F.normalize(weights, dim=-1)  # each of length 1
    rows = rows.transpose(1, 2)  # (batch, query, head, key)
    cosines = rows @ rows.transpose(-2, -1)  # (batch, query, head, head)
    return cosines.mean(dim=(0, 1))
