"""Masks: who may look at whom. True means "may attend".

Vaswani et al. 2017, sections 3.1 and 3.2.3. Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from qkv.model.expect import expects


@expects(n="size")
def causal_mask(n: int) -> Tensor:
    """Let every position look at itself and at what came before it.

    Args:
        n: number of positions.

    Returns:
        mask (n, n), bool: entry (i, j) is True where query i may attend to
            key j, that is where j ≤ i.
    """
    positions = torch.arange(n)
    return positions[:, None] >= positions  # (query, key)


@expects(lengths="int: batch", length="size")
def padding_mask(lengths: Tensor, length: int) -> Tensor:
    """Let every query look at real tokens only.

    Args:
        lengths: how many tokens of each sequence are real (batch,), int64,
            each between 0 and length.
        length: how many positions the padded batch has.

    Returns:
        mask (batch, 1, length), bool: True for real tokens. The 1 stands for
            all queries.
    """
    positions = torch.arange(length, device=lengths.device)
    real = positions < lengths[:, None]  # (batch, length)
    return real[:, None]


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Allow what every mask allows.

    Args:
        masks: bool masks that broadcast with each other, or None for
            "no restriction".

    Returns:
        one mask of their common shape; None if there is nothing to combine.
    """
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else combined & mask
    return combined


@expects(scores="... key", mask="bool -> ... key")
def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Turn the allowed scores of each row into weights; hidden ones get 0.

    Args:
        scores: any real numbers (..., key), as large as ±1e4.
        mask: bool, broadcastable to (..., key). True means "may attend".

    Returns:
        weights (..., key). A row sums to 1 if it allows anything; a row that
            allows nothing is all 0, its gradient too.

    To be written without torch's own masked softmax or torch's fused attention.
    """
    scores = scores.masked_fill(~mask, -math.inf)
    lowest = torch.finfo(scores.dtype).min
    highest = scores.amax(dim=-1, keepdim=True).clamp(min=lowest)  # never -inf
    powers = torch.exp(scores - highest)  # 0 where hidden
    # a sum is at least exp(0) = 1, or 0 where all is hidden
    return powers / powers.sum(dim=-1, keepdim=True).clamp(min=1)


@expects(x="batch seq d_model", lengths="int: batch")
def zero_padding(x: Tensor, lengths: Tensor) -> Tensor:
    """Replace the vectors of padding by zeros.

    Args:
        x: a batch of padded sequences (batch, seq, d_model).
        lengths: how many tokens of each are real (batch,), int64.

    Returns:
        x (batch, seq, d_model) with zeros from position lengths[b] on in
            sequence b.
    """
    real = padding_mask(lengths, x.shape[1]).transpose(-2, -1)  # (batch, seq, 1)
    return x.masked_fill(~real, 0)


@expects(decoder="... target d_model", memory="... source d_model", memory_mask="bool -> ... target source")
def cross_attention(
    decoder: Tensor,
    memory: Tensor,
    attend: Callable[..., Tensor],
    memory_mask: Tensor | None = None,
) -> Tensor:
    """Let the decoder ask, and the encoder's memory answer.

    Args:
        decoder: what the decoder has so far (..., target, d_model).
        memory: what the encoder made of the source (..., source, d_model).
        attend: an attention, called as attend(query, key, value, mask).
        memory_mask: bool, broadcastable to (..., target, source), or None;
            handed to attend as it is.

    Returns:
        what attend returns: one vector for each position of the decoder.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """
    return attend(decoder, memory, memory, memory_mask)


@expects(x="batch seq d_model", lengths="int: batch")
def masked_mean(x: Tensor, lengths: Tensor) -> Tensor:
    """Average the real vectors of each sequence.

    Args:
        x: a batch of padded sequences (batch, seq, d_model).
        lengths: how many tokens of each are real (batch,), int64.

    Returns:
        means (batch, d_model). A sequence without a real token has the mean 0.
    """
    total = zero_padding(x, lengths).sum(dim=1)  # (batch, d_model)
    return total / lengths.clamp(min=1)[:, None]
