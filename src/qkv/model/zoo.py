"""GPT-2, BERT and ViT as they were trained, put together from the course's own parts; T5 has a file of its own.

What differs is what is hidden, where the norm stands, and what goes in and comes out: GPT-2 (Radford et al. 2019) sees
no later token; BERT (Devlin et al. 2019) sees all and normalises after each sublayer; ViT (Dosovitskiy et al. 2021)
reads patches. `qkv.pretrained` fills them with published weights. Shapes: see model/__init__.py.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.blocks import EncoderLayer, FeedForward, gelu
from qkv.model.expect import expects
from qkv.model.heads import MultiHeadAttention
from qkv.model.masks import causal_mask
from qkv.model.models import PatchEmbedding

Activation = Callable[[Tensor], Tensor]


def gelu_tanh(x: Tensor) -> Tensor:
    """The approximation by a tanh with which GPT-2 was trained; it differs from `gelu` by up to 5e-4."""
    return F.gelu(x, approximate="tanh")


def pre_norm_layer(d_model: int, n_heads: int, d_ff: int, activation: Activation, eps: float) -> EncoderLayer:
    """Chapter 07's layer with another activation, and another epsilon under the root of its norms."""
    layer = EncoderLayer(d_model, n_heads, d_ff)
    layer.norm1, layer.norm2 = nn.LayerNorm(d_model, eps), nn.LayerNorm(d_model, eps)
    layer.feed_forward.activation = activation
    return layer


class PostNormLayer(nn.Module):
    """One layer of BERT: each sublayer adds to the stream, and the sum is normalised.

    Args:
        d_model: width of the stream.
        n_heads: number of attention heads.
        d_ff: width inside the feed-forward network.
        activation: a function of one tensor.
        eps: added to the variance in both norms.
    """

    def __init__(
        self, d_model: int, n_heads: int, d_ff: int, activation: Activation = gelu, eps: float = 1e-12
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model, eps)
        self.feed_forward = FeedForward(d_model, d_ff, activation)
        self.norm2 = nn.LayerNorm(d_model, eps)

    @expects(x="batch seq d_model", mask="bool -> batch seq seq")
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend, then work on each position; x and the result are (batch, seq, d_model)."""
        x = self.norm1(x + self.attention(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


class GPT2(nn.Module):
    """A decoder alone: every position scores the token that comes after it.

    Args:
        vocab: number of tokens.
        length: longest sequence; each position has a learned vector.
        d_model: width of the stream.
        n_heads: heads in each attention.
        n_layers: number of layers.
        d_ff: width inside each feed-forward network.
        activation: GPT-2 has the tanh approximation of GELU.
        eps: added to the variance in every norm.
    """

    @expects(vocab="positive", length="positive", d_model="positive", n_heads="divides d_model", d_ff="positive")
    def __init__(
        self,
        vocab: int,
        length: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        activation: Activation = gelu_tanh,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, d_model)
        self.positions = nn.Embedding(length, d_model)
        self.layers = nn.ModuleList(pre_norm_layer(d_model, n_heads, d_ff, activation, eps) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model, eps)

    @property
    def length(self) -> int:
        """The longest sequence that it can read."""
        return self.positions.num_embeddings

    @expects(ids="int: batch seq")
    def forward(self, ids: Tensor) -> Tensor:
        """Score every next token, after each prefix.

        Args:
            ids: token ids (batch, seq), int64, at most `length` of them.

        Returns:
            logits (batch, seq, vocab); the output shares its weights with the table of tokens.
        """
        x = self.tokens(ids) + self.positions(places(ids, self.length))
        past = causal_mask(ids.shape[1]).to(ids.device)
        for layer in self.layers:
            x = layer(x, past)
        return self.norm(x) @ self.tokens.weight.T


class BERT(nn.Module):
    """An encoder alone: every position sees all, and says which token was hidden there.

    Args:
        vocab: number of tokens.
        length: longest sequence; each position has a learned vector.
        d_model: width of the stream.
        n_heads: heads in each attention.
        n_layers: number of layers.
        d_ff: width inside each feed-forward network.
        n_kinds: kinds of token: 0 for the first sentence, 1 for the second.
        activation: BERT has the exact GELU.
        eps: added to the variance in every norm.
    """

    @expects(vocab="positive", length="positive", d_model="positive", n_heads="divides d_model", d_ff="positive")
    def __init__(
        self,
        vocab: int,
        length: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        n_kinds: int = 2,
        activation: Activation = gelu,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, d_model)
        self.positions = nn.Embedding(length, d_model)
        self.kinds = nn.Embedding(n_kinds, d_model)
        self.norm = nn.LayerNorm(d_model, eps)
        self.layers = nn.ModuleList(PostNormLayer(d_model, n_heads, d_ff, activation, eps) for _ in range(n_layers))
        self.head = nn.Linear(d_model, d_model)
        self.activation = activation
        self.head_norm = nn.LayerNorm(d_model, eps)
        self.bias = nn.Parameter(torch.zeros(vocab))

    @expects(ids="int: batch seq", mask="bool -> batch seq seq", kinds="int: batch seq")
    def forward(self, ids: Tensor, mask: Tensor | None = None, kinds: Tensor | None = None) -> Tensor:
        """Score every token at every position.

        Args:
            ids: token ids (batch, seq), int64, some of them hidden.
            mask: real tokens, bool, broadcastable to (batch, seq, seq), such as `padding_mask` gives; or None.
            kinds: which sentence each token belongs to (batch, seq), int64; None means all to the first.

        Returns:
            logits (batch, seq, vocab); the output shares its weights with the table of tokens, and adds a bias.
        """
        kinds = torch.zeros_like(ids) if kinds is None else kinds
        places_of = places(ids, self.positions.num_embeddings)
        x = self.norm(self.tokens(ids) + self.positions(places_of) + self.kinds(kinds))
        for layer in self.layers:
            x = layer(x, mask)
        x = self.head_norm(self.activation(self.head(x)))
        return x @ self.tokens.weight.T + self.bias


class ViT(nn.Module):
    """An encoder of patches: what the class token has collected says what the picture shows.

    Args:
        channels: colours of a pixel.
        size: height and width of a patch, in pixels.
        n_patches: patches in a picture.
        n_classes: what a picture may show.
        d_model: width of the stream.
        n_heads: heads in each attention.
        n_layers: number of layers.
        d_ff: width inside each feed-forward network.
        activation: ViT has the exact GELU.
        eps: added to the variance in every norm.
    """

    @expects(n_classes="positive", d_model="positive", n_heads="divides d_model", d_ff="positive")
    def __init__(
        self,
        channels: int,
        size: int,
        n_patches: int,
        n_classes: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        activation: Activation = gelu,
        eps: float = 1e-12,
    ) -> None:
        super().__init__()
        self.patches = PatchEmbedding(channels, size, d_model, n_patches)
        self.layers = nn.ModuleList(pre_norm_layer(d_model, n_heads, d_ff, activation, eps) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model, eps)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Score every class.

        Args:
            images: pictures (batch, channels, height, width).

        Returns:
            logits (batch, n_classes).
        """
        x = self.patches(images)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def places(ids: Tensor, length: int) -> Tensor:
    """The positions 0, 1, … of a sequence of ids; refuses one that is longer than the table of positions."""
    if ids.shape[1] > length:
        raise ValueError(
            f"ids has {ids.shape[1]} tokens, expected at most {length}: there is a vector for each position."
        )
    return torch.arange(ids.shape[1], device=ids.device)
