"""T5: an encoder and a decoder whose attention knows distances, not positions.

Raffel et al. 2020. Three things differ from chapter 08's Transformer: norms only rescale (RMS), nothing has a bias, and
scores are not divided by √d but get a learned number for each head and bucket of distance, the same in every layer.
`qkv.pretrained` fills it with published weights. Shapes: see model/__init__.py.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from qkv.model.expect import expects
from qkv.model.heads import merge_heads, split_heads
from qkv.model.lookup import similarity_scores
from qkv.model.masks import causal_mask
from qkv.model.norm import RMSNorm as RMSNorm
from qkv.model.positions import relative_bucket
from qkv.model.zoo import Activation


class DistanceBias(nn.Module):
    """A number for each head and each bucket of distance, to be added to the scores.

    Args:
        n_heads: number of heads.
        n_buckets: number of buckets.
        max_distance: from here on all distances share a bucket.
        both_sides: whether later keys have buckets of their own. In a decoder they are hidden, and all buckets serve
            the past.
    """

    def __init__(self, n_heads: int, n_buckets: int, max_distance: int, both_sides: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(n_buckets, n_heads)
        self.max_distance = max_distance
        self.both_sides = both_sides

    def forward(self, query: int, key: int) -> Tensor:
        """Bias (head, query, key) for that many queries and keys."""
        device = self.table.weight.device
        distance = torch.arange(key, device=device) - torch.arange(query, device=device)[:, None]
        if self.both_sides:
            bucket = relative_bucket(distance, self.table.num_embeddings, self.max_distance)
        else:  # the lower half of twice as many buckets is for the past
            bucket = relative_bucket(distance.clamp(max=0), 2 * self.table.num_embeddings, self.max_distance)
        return self.table(bucket).permute(2, 0, 1)


class T5Attention(nn.Module):
    """Multi-head attention without scale and without bias vectors; a head may be of any width.

    Args:
        d_model: width of the stream.
        n_heads: number of heads.
        d_head: width of a head.
    """

    def __init__(self, d_model: int, n_heads: int, d_head: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.k_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.v_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.out_proj = nn.Linear(n_heads * d_head, d_model, bias=False)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        """Attend from query (batch, query, d_model) to memory (batch, key, d_model).

        Args:
            query: what asks (batch, query, d_model).
            memory: what answers (batch, key, d_model).
            mask: bool, broadcastable to (batch, query, key), or None.
            bias: numbers to add to the scores, (head, query, key), or None.

        Returns:
            output (batch, query, d_model).
        """
        q = split_heads(self.q_proj(query), self.n_heads)
        k = split_heads(self.k_proj(memory), self.n_heads)
        v = split_heads(self.v_proj(memory), self.n_heads)
        scores = similarity_scores(q, k)
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            scores = scores.masked_fill(~torch.atleast_2d(mask).unsqueeze(-3), -math.inf)
        return self.out_proj(merge_heads(scores.softmax(dim=-1) @ v))


class T5FeedForward(nn.Module):
    """Two layers without bias; a gated one multiplies what it expands by a second expansion.

    Args:
        d_model: width of the stream.
        d_ff: width in between.
        activation: a function of one tensor.
        gated: whether there is a second expansion.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Activation, gated: bool) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ff, bias=False)
        self.gate = nn.Linear(d_model, d_ff, bias=False) if gated else None
        self.down = nn.Linear(d_ff, d_model, bias=False)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """Send every vector (..., d_model) through the same layers."""
        if self.gate is None:
            return self.down(self.activation(self.up(x)))
        return self.down(self.activation(self.gate(x)) * self.up(x))


class T5Layer(nn.Module):
    """One layer of the encoder, or, with a memory to look at, of the decoder; pre-norm.

    Args:
        d_model: width of the stream.
        n_heads: heads in each attention.
        d_head: width of a head.
        d_ff: width inside the feed-forward network.
        activation: a function of one tensor.
        gated: whether the feed-forward network is gated.
        eps: added to the mean square in every norm.
        looks_over: whether there is an attention to the memory.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_ff: int,
        activation: Activation,
        gated: bool,
        eps: float,
        looks_over: bool,
    ) -> None:
        super().__init__()
        self.norm1 = RMSNorm(d_model, eps)
        self.self_attention = T5Attention(d_model, n_heads, d_head)
        if looks_over:
            self.norm2 = RMSNorm(d_model, eps)
            self.cross_attention = T5Attention(d_model, n_heads, d_head)
        self.norm3 = RMSNorm(d_model, eps)
        self.feed_forward = T5FeedForward(d_model, d_ff, activation, gated)
        self.looks_over = looks_over

    def forward(
        self, x: Tensor, mask: Tensor | None, bias: Tensor, memory: Tensor | None = None, seen: Tensor | None = None
    ) -> Tensor:
        """Let two or three sublayers add to the stream x (batch, seq, d_model)."""
        normed = self.norm1(x)
        x = x + self.self_attention(normed, normed, mask, bias)
        if self.looks_over and memory is not None:
            x = x + self.cross_attention(self.norm2(x), memory, seen, None)
        return x + self.feed_forward(self.norm3(x))


class T5(nn.Module):
    """An encoder reads the source, a decoder says the target; one table of tokens for both.

    Args:
        vocab: number of tokens.
        d_model: width of the stream.
        n_heads: heads in each attention.
        d_head: width of a head.
        d_ff: width inside each feed-forward network.
        n_encoder: layers of the encoder.
        n_decoder: layers of the decoder.
        activation: ReLU in the first T5, the tanh approximation of GELU in version 1.1.
        gated: whether feed-forward networks are gated, as in version 1.1.
        tied: whether the output shares its weights with the table of tokens.
        scaled: whether the decoder's last vectors are divided by √d_model, as in the first T5.
        n_buckets: buckets of distance.
        max_distance: from here on all distances share a bucket.
        eps: added to the mean square in every norm.
    """

    @expects(vocab="positive", d_model="positive", n_heads="positive", d_head="positive", d_ff="positive")
    def __init__(
        self,
        vocab: int,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_ff: int,
        n_encoder: int,
        n_decoder: int,
        activation: Activation = torch.relu,
        gated: bool = False,
        tied: bool = True,
        scaled: bool = True,
        n_buckets: int = 32,
        max_distance: int = 128,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        sizes = (d_model, n_heads, d_head, d_ff, activation, gated, eps)
        self.tokens = nn.Embedding(vocab, d_model)
        self.encoder_bias = DistanceBias(n_heads, n_buckets, max_distance, both_sides=True)
        self.encoder = nn.ModuleList(T5Layer(*sizes, looks_over=False) for _ in range(n_encoder))
        self.encoder_norm = RMSNorm(d_model, eps)
        self.decoder_bias = DistanceBias(n_heads, n_buckets, max_distance, both_sides=False)
        self.decoder = nn.ModuleList(T5Layer(*sizes, looks_over=True) for _ in range(n_decoder))
        self.decoder_norm = RMSNorm(d_model, eps)
        self.head = None if tied else nn.Linear(d_model, vocab, bias=False)
        self.scale = d_model**-0.5 if scaled else 1.0

    @expects(source="int: batch source", mask="bool -> batch source source")
    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        """Read the source ids (batch, source); the memory is (batch, source, d_model)."""
        x, bias = self.tokens(source), self.encoder_bias(source.shape[1], source.shape[1])
        for layer in self.encoder:
            x = layer(x, mask, bias)
        return self.encoder_norm(x)

    @expects(inputs="int: batch target", memory="batch source d_model", mask="bool -> batch target source")
    def decode(self, inputs: Tensor, memory: Tensor, mask: Tensor | None = None) -> Tensor:
        """Score every next token (batch, target, vocab) after each prefix of the inputs (batch, target)."""
        target = inputs.shape[1]
        x, bias = self.tokens(inputs), self.decoder_bias(target, target)
        past = causal_mask(target).to(inputs.device)
        for layer in self.decoder:
            x = layer(x, past, bias, memory, mask)
        x = self.decoder_norm(x) * self.scale
        return x @ self.tokens.weight.T if self.head is None else self.head(x)

    def forward(self, source: Tensor, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        """Score every token of the target at once.

        Args:
            source: token ids (batch, source), int64.
            inputs: the target shifted right (batch, target), int64; T5 starts with its padding id, 0.
            mask: real source tokens, bool, (batch, 1, source), or None.

        Returns:
            logits (batch, target, vocab).
        """
        return self.decode(inputs, self.encode(source, mask), mask)
