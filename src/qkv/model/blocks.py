"""Blocks: attention mixes positions, the feed-forward network works on each; residual connections carry the stream.

Vaswani et al. 2017, sections 3.1, 3.3 and 5.4; Hendrycks and Gimpel 2016 (GELU); Xiong et al. 2020 (pre-norm).
Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from qkv.model.expect import expects
from qkv.model.heads import MultiHeadAttention


@expects(x="...")
def gelu(x: Tensor) -> Tensor:
    """Let a number pass as far as it stands out: x·Φ(x).

    Φ(x) is the probability that a standard normal number is below x.

    Args:
        x: any numbers (...).

    Returns:
        gated numbers (...), exact, not the tanh approximation.

    To be written without torch's own GELU.
    """
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


class FeedForward(nn.Module):
    """Expand each vector, gate its components, project it back.

    The same network works at every position, on one position at a time.

    Args:
        d_model: width of the vectors that come in and go out.
        d_ff: width in between.
        activation: a function of one tensor.
    """

    @expects(d_model="positive", d_ff="positive")
    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.activation = activation

    @expects(x="... d_model")
    def forward(self, x: Tensor) -> Tensor:
        """Send every vector through the same two layers.

        Args:
            x: vectors (..., d_model).

        Returns:
            vectors (..., d_model).
        """
        return self.down(self.activation(self.up(x)))


@expects(x="...")
def dropout(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """Set each number to 0 with probability p; enlarge the rest in return.

    Args:
        x: any numbers (...).
        p: the probability to be dropped, from 0 to 1.
        generator: where the randomness comes from. A number is kept where
            torch.rand(x.shape, generator=generator) >= p.

    Returns:
        thinned numbers (...), on average equal to x. For p = 1 all are 0.

    To be written without torch's own dropout.
    """
    kept = torch.rand(x.shape, generator=generator, device=generator.device) >= p
    survivors = x * kept.to(x.device)
    return survivors if p == 1 else survivors / (1 - p)


class EncoderLayer(nn.Module):
    """One layer of an encoder, pre-norm: attention, then feed-forward.

    Args:
        d_model: width of the stream.
        n_heads: number of attention heads.
        d_ff: width inside the feed-forward network, which uses GELU.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(d_model="positive", n_heads="divides d_model", d_ff="positive")
    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    @expects(x="batch seq d_model", mask="bool -> batch seq seq")
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Let both sublayers add to the stream; each reads a normalised copy.

        Args:
            x: the stream (batch, seq, d_model).
            mask: bool, broadcastable to (batch, seq, seq).
                True means "may attend".

        Returns:
            the stream (batch, seq, d_model).
        """
        normed = self.norm1(x)
        x = x + self.attention(normed, normed, normed, mask)
        return x + self.feed_forward(self.norm2(x))


class DecoderLayer(nn.Module):
    """One layer of a decoder, pre-norm: look back, look over, work.

    Self-attention, then cross-attention to the memory, then feed-forward.

    Args:
        d_model: width of the stream and of the memory.
        n_heads: number of heads in both attentions.
        d_ff: width inside the feed-forward network, which uses GELU.

    To be written without torch's fused attention or nn.MultiheadAttention.
    """

    @expects(d_model="positive", n_heads="divides d_model", d_ff="positive")
    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm3 = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, gelu)

    @expects(
        x="batch target d_model",
        memory="batch source d_model",
        self_mask="bool -> batch target target",
        memory_mask="bool -> batch target source",
    )
    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        self_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Let three sublayers add to the stream. The memory is not normalised.

        Args:
            x: the decoder's stream (batch, target, d_model).
            memory: what the encoder made (batch, source, d_model).
            self_mask: bool, broadcastable to (batch, target, target);
                no causal mask is implied.
            memory_mask: bool, broadcastable to (batch, target, source).

        Returns:
            the stream (batch, target, d_model).
        """
        normed = self.norm1(x)
        x = x + self.self_attention(normed, normed, normed, self_mask)
        x = x + self.cross_attention(self.norm2(x), memory, memory, memory_mask)
        return x + self.feed_forward(self.norm3(x))
