"""The exercise `EncoderLayer`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, normal, seeded
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.blocks.gelu import tanh_approximation
from qkv.exercises.blocks.shared import build_layer, hidden_keys, loud, masks_that_broadcast
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.blocks import EncoderLayer

exercise = Exercise(
    EncoderLayer,
    section="The encoder layer",
    minutes=15,
    difficulty=2,
    why="Attention mixes words, the network thinks about each: this pair is repeated to the top.",
    hints=[
        "Two sublayers, each of them: normalise, work, add. In which order?",
        "In self-attention query, key and value are the same tensor: the normalised one.",
        "The second sublayer starts from the stream that the first one has changed.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def encoder_stream() -> tuple[Tensor]:
    return (normal(4, 5, 6, seed="x", std=2.0),)


@exercise.probe
def without_mask(encoder_layer: Any) -> Seen:
    """four sequences of five vectors, no mask"""
    return {"output": build_layer(encoder_layer)(*encoder_stream())}


@exercise.probe
def with_padding(encoder_layer: Any) -> Seen:
    """four sequences of five vectors, the ends of three hidden"""
    return {"output": build_layer(encoder_layer)(*encoder_stream(), hidden_keys())}


@exercise.probe
def causally(encoder_layer: Any) -> Seen:
    """one sequence of seven vectors under a causal mask, given by name"""
    layer = seeded(encoder_layer(6, 3, 4))
    return {"output": layer(normal(1, 7, 6, seed="x"), mask=torch.ones(7, 7).tril().bool())}


def named_by_shape(mask: Tensor) -> str:
    return f"output, mask {tuple(mask.shape)}{', all True' if bool(mask.all()) else ''}"


@exercise.probe
def with_masks_of_every_shape(encoder_layer: Any) -> Seen:
    """masks of every shape that broadcasts to (batch, seq, seq)"""
    layer = build_layer(encoder_layer)
    return {named_by_shape(mask): layer(*encoder_stream(), mask) for mask in masks_that_broadcast(4, 5, 5)}


@exercise.probe
def layers_of_size_one(encoder_layer: Any) -> Seen:
    """sizes of 1: the batch, the sequence, d_model, the heads, the width of a head, d_ff"""
    batch, seq, width = distinct(2, 9, 3, seed="sizes")
    cases = [
        (1, seq, (6, 2, width)), (batch, 1, (6, 3, width)), (batch, seq, (1, 1, width)), (batch, seq, (6, 1, width)),
        (batch, seq, (4, 4, width)), (batch, seq, (6, 2, 1)), (1, 1, (1, 1, 1)),
    ]  # fmt: skip
    return {
        f"output, {b} × {n}, sizes {sizes}": seeded(encoder_layer(*sizes))(normal(b, n, sizes[0], seed="x", std=2.0))
        for b, n, sizes in cases
    }


def stream_and_mask() -> tuple[Tensor, Tensor]:
    return normal(5, 5, 6, seed="x"), torch.ones(5, 5, 5).tril().bool()


usual(exercise, encoder_stream, build_layer, alike=stream_and_mask)


@exercise.property
def where_the_gelu_shows(encoder_layer: Any) -> Seen:
    """a feed-forward network whose activation meets numbers near -2.5, with large weights after it

    Where GELU is small your numbers differ. The feed-forward network is made with the exact
    `gelu`; the tanh approximation, torch's own included, is off by up to 0.0005.
    """
    return {"output": loud(build_layer(encoder_layer))(*encoder_stream())}


@exercise.property
def where_eps_decides(encoder_layer: Any) -> Seen:
    """a stream that hardly varies, so that eps decides

    On vectors that hardly vary, where eps decides, your numbers differ. The norms are `nn.LayerNorm(d_model)`, whose
    eps is 1e-5.
    """
    return {"output": build_layer(encoder_layer)(normal(2, 4, 6, seed="x", std=3e-3))}


def attend_to_itself(layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return layer.attention(x, x, x, mask)


@exercise.misconception
class PostNormEncoder(EncoderLayer):
    """You normalise after each sum: that is post-norm, as in the paper of 2017.

    It needs a warm-up to train. This course builds the pre-norm layer, whose stream is never normalised.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm1(x + attend_to_itself(self, x, mask))
        return self.norm2(x + self.feed_forward(x))


@exercise.misconception
class MaskDropped(EncoderLayer):
    """You do not hand the mask to the attention.

    Padding, or the future, is then seen by everybody.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(x, None)


@exercise.misconception
class StreamNormalised(EncoderLayer):
    """You add to the normalised stream instead of to the stream.

    The way around the sublayers should carry x as it is.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm1(x)
        x = x + attend_to_itself(self, x, mask)
        x = self.norm2(x)
        return x + self.feed_forward(x)


@exercise.misconception
class NoResidual(EncoderLayer):
    """You do not add: each sublayer replaces the stream.

    Without the way around, what one layer does not pass on is lost to all later ones.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.feed_forward(self.norm2(attend_to_itself(self, self.norm1(x), mask)))


@exercise.misconception
class OnlyQueriesNormalised(EncoderLayer):
    """You normalise the queries, but not the keys and values.

    In self-attention all three are the same tensor: the normalised one.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norm1(x), x, x, mask)
        return x + self.feed_forward(self.norm2(x))


@exercise.misconception
class OneNormTwice(EncoderLayer):
    """You use norm1 for both sublayers.

    Each sublayer has a norm of its own, whose gains and shifts suit it.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm1(x), mask)
        return x + self.feed_forward(self.norm1(x))


@exercise.misconception
class SideBySide(EncoderLayer):
    """Both of your sublayers read the same x, side by side.

    Some models do so. Here the feed-forward network works on what attention has already added.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x + attend_to_itself(self, self.norm1(x), mask) + self.feed_forward(self.norm2(x))


@exercise.misconception
class FeedForwardFirst(EncoderLayer):
    """You run the feed-forward network before the attention.

    The order is part of the layer: first positions exchange what they know, then each works on it.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.feed_forward(self.norm2(x))
        return x + attend_to_itself(self, self.norm1(x), mask)


@exercise.misconception
class NormsForgotten(EncoderLayer):
    """You do not normalise at all.

    The stream grows from layer to layer, and with it the scores: attention saturates.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, x, mask)
        return x + self.feed_forward(x)


@exercise.misconception
class SideBySideWithOneNorm(EncoderLayer):
    """Both of your sublayers read norm1(x), side by side; norm2 is not used.

    GPT-J is built so. Here the feed-forward network works on what attention has already added, through its own norm.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        normed = self.norm1(x)
        return x + attend_to_itself(self, normed, mask) + self.feed_forward(normed)


@exercise.misconception
class ReLUInside(EncoderLayer):
    """Your feed-forward network uses ReLU.

    So does the paper of 2017, and torch's own layer unless told otherwise. This course builds it with GELU.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm1(x), mask)
        inner = self.feed_forward
        return x + inner.down(inner.up(self.norm2(x)).clamp(min=0))


@exercise.misconception
class AnswersNormalised(EncoderLayer):
    """You normalise what comes out of each sublayer, not what goes in.

    Some models do so. In pre-norm each sublayer reads a normalised stream, and what it says is added as it is.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.norm1(attend_to_itself(self, x, mask))
        return x + self.norm2(self.feed_forward(x))


@exercise.misconception
class NormsExchanged(EncoderLayer):
    """You exchange norm1 and norm2.

    norm1 belongs to the attention, norm2 to the feed-forward network; each has gains and shifts of its own.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm2(x), mask)
        return x + self.feed_forward(self.norm1(x))


@exercise.misconception
class BothFromTheStart(EncoderLayer):
    """After the feed-forward network you add the x that came into the layer, not the stream that attention has changed.

    What attention gathered is then only seen through the feed-forward network. Each sublayer adds to what is there.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        attended = x + attend_to_itself(self, self.norm1(x), mask)
        return x + self.feed_forward(self.norm2(attended))


@exercise.misconception
class TanhInside(EncoderLayer):
    """Your feed-forward network uses the tanh approximation of GELU.

    It is off by up to 0.0005 in each of the d_ff components. The layer is made with the exact `gelu`.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm1(x), mask)
        inner = self.feed_forward
        return x + inner.down(tanh_approximation(inner.up(self.norm2(x))))


squeezes(exercise)
