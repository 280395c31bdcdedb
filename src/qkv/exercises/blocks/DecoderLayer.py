"""The exercise `DecoderLayer`."""

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
from qkv.exercises.blocks.shared import build_layer, hidden_keys, loud, masks_that_broadcast, silenced
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.blocks import DecoderLayer

exercise = Exercise(
    DecoderLayer,
    section="The decoder layer",
    minutes=20,
    difficulty=3,
    why="Three sublayers: what was said, what was read, and what to make of both.",
    hints=[
        "Three sublayers, each of them: normalise, work, add. Which one meets the memory?",
        "In cross-attention the decoder asks: its normalised stream is the query, the memory is key and value.",
        "There are two masks. Which attention gets which?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def decoder_arguments() -> tuple[Tensor, Tensor]:
    return normal(4, 3, 6, seed="x", std=2.0), normal(4, 5, 6, seed="memory", std=2.0)


@exercise.probe
def without_masks(decoder_layer: Any) -> Seen:
    """three decoder positions, five of memory, no masks"""
    return {"output": build_layer(decoder_layer)(*decoder_arguments())}


@exercise.probe
def with_both_masks(decoder_layer: Any) -> Seen:
    """a causal mask for the decoder and a padding mask for the memory"""
    masks = torch.ones(3, 3).tril().bool(), hidden_keys()
    return {"output": build_layer(decoder_layer)(*decoder_arguments(), *masks)}


@exercise.probe
def with_the_memory_mask_alone(decoder_layer: Any) -> Seen:
    """only a memory mask, given by name"""
    return {"output": build_layer(decoder_layer)(*decoder_arguments(), memory_mask=hidden_keys())}


@exercise.probe
def as_long_as_the_memory(decoder_layer: Any) -> Seen:
    """a decoder as long as its memory, so that exchanged roles and masks still fit"""
    layer = seeded(decoder_layer(6, 3, 4))
    masks = torch.ones(4, 4).tril().bool(), torch.ones(4, 4).triu(-1).bool()
    return {"output": layer(normal(2, 4, 6, seed="x"), normal(2, 4, 6, seed="memory"), *masks)}


@exercise.probe
def with_the_self_mask_alone(decoder_layer: Any) -> Seen:
    """only a self-mask, given by name, and the two masks with None in either place"""
    layer, causal = build_layer(decoder_layer), torch.ones(3, 3).tril().bool()
    return {
        "output, self_mask by name": layer(*decoder_arguments(), self_mask=causal.clone()),
        "output, None for the mask of the memory": layer(*decoder_arguments(), causal.clone(), None),
        "output, None for the self-mask": layer(*decoder_arguments(), None, hidden_keys()),
    }


@exercise.probe
def with_two_masks_of_every_shape(decoder_layer: Any) -> Seen:
    """masks of every shape that broadcasts to (batch, target, target) and to (batch, target, source)"""
    layer = build_layer(decoder_layer)
    pairs = zip(masks_that_broadcast(4, 3, 3), reversed(masks_that_broadcast(4, 3, 5)), strict=True)
    return {f"output, masks {tuple(a.shape)} and {tuple(b.shape)}": layer(*decoder_arguments(), a, b) for a, b in pairs}


@exercise.probe
def decoders_of_size_one(decoder_layer: Any) -> Seen:
    """sizes of 1: the batch, the target, the source, d_model, the heads, the width of a head, d_ff"""
    batch, target, source, width = distinct(2, 9, 4, seed="sizes")
    cases = [
        (1, target, source, (6, 2, width)), (batch, 1, source, (6, 3, width)), (batch, target, 1, (6, 2, width)),
        (batch, target, source, (1, 1, width)), (batch, target, source, (6, 1, width)),
        (batch, target, source, (4, 4, width)), (batch, target, source, (6, 2, 1)), (1, 1, 1, (1, 1, 1)),
    ]  # fmt: skip
    return {
        f"output, {b} × {n} over {m}, sizes {sizes}": seeded(decoder_layer(*sizes))(
            normal(b, n, sizes[0], seed="x", std=2.0), normal(b, m, sizes[0], seed="memory", std=2.0)
        )
        for b, n, m, sizes in cases
    }


# Twelve wide and of deviation 1: the rounding of float16 and bfloat16 stays well below what is let pass.
def decoder_arguments_in_any_dtype() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    masks = torch.ones(3, 3).tril().bool(), hidden_keys()
    return normal(4, 3, 12, seed="x"), normal(4, 5, 12, seed="memory"), *masks


def decoder_arguments_of_one_shape() -> tuple[Tensor, Tensor]:
    return normal(2, 5, 12, seed="x"), normal(2, 5, 12, seed="memory")


def build_wide_layer(cls: Any) -> Any:
    return seeded(cls(12, 3, 10))


usual(exercise, decoder_arguments_in_any_dtype, build_wide_layer, alike=decoder_arguments_of_one_shape)


# a probe of values, since the approximation shows in some others, on some inputs: it is named on both sets or on none
@exercise.probe
def where_the_decoders_gelu_shows(decoder_layer: Any) -> Seen:
    """a feed-forward network whose activation meets numbers near -2.5, with large weights after it"""
    return {"output": loud(build_layer(decoder_layer))(*decoder_arguments())}


@exercise.property
def where_the_decoders_eps_decides(decoder_layer: Any) -> Seen:
    """a stream that hardly varies, so that eps decides

    On vectors that hardly vary, where eps decides, your numbers differ. The norms are `nn.LayerNorm(d_model)`, whose
    eps is 1e-5.
    """
    x, memory = normal(2, 4, 6, seed="x", std=3e-3), normal(2, 3, 6, seed="memory")
    found: Seen = {"output": build_layer(decoder_layer)(x, memory)}
    # what a sublayer adds varies: those before a norm have to be silent for its own eps to decide
    silent = ("self_attention",), ("self_attention", "cross_attention")
    for names in silent:
        layer = silenced(build_layer(decoder_layer), *names)
        found[f"output, {' and '.join(names)} adding nothing"] = layer(x.clone(), memory.clone())
    return found


class Decoder(DecoderLayer):
    """The reference in three methods, so that each can be wrong by itself."""

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        x = self.look_back(x, self_mask, memory_mask)
        x = self.look_over(x, memory, self_mask, memory_mask)
        return self.work(x)

    def look_back(self, x: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        normed = self.norm1(x)
        return x + self.self_attention(normed, normed, normed, self_mask)

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return x + self.cross_attention(self.norm2(x), memory, memory, memory_mask)

    def work(self, x: Tensor) -> Tensor:
        return x + self.feed_forward(self.norm3(x))


@exercise.misconception
class RolesExchanged(Decoder):
    """In cross-attention your memory asks and the decoder answers.

    The result then has the length of the source. The decoder asks, one query for each of its positions.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        normed = self.norm2(x)
        return x + self.cross_attention(memory, normed, normed, memory_mask)


@exercise.misconception
class MemoryNormalised(Decoder):
    """You normalise the memory with the decoder's norm.

    The encoder normalises its own output, once, at its end; norm2 belongs to the decoder's stream.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        normed = self.norm2(memory)
        return x + self.cross_attention(self.norm2(x), normed, normed, memory_mask)


@exercise.misconception
class MemoryMaskDropped(Decoder):
    """You do not hand the memory mask to the cross-attention.

    The decoder then reads the padding of the source.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return super().look_over(x, memory, self_mask, None)


@exercise.misconception
class SelfMaskDropped(Decoder):
    """You do not hand the self-mask to the self-attention.

    The decoder then sees the tokens that it has to predict.
    """

    def look_back(self, x: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return super().look_back(x, None, memory_mask)


@exercise.misconception
class CrossAttentionForgotten(Decoder):
    """You never look at the memory.

    Without cross-attention the decoder is a language model that has not read the source.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return x


@exercise.misconception
class CrossResidualForgotten(Decoder):
    """After the cross-attention you do not add the stream.

    What self-attention has gathered is then replaced by what the memory says.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return self.cross_attention(self.norm2(x), memory, memory, memory_mask)


@exercise.misconception
class ImpliedCausalMask(Decoder):
    """You add a causal mask of your own.

    The caller decides what is hidden: `self_mask` says it all, and None means that nothing is hidden.
    """

    def look_back(self, x: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        causal = torch.ones(x.shape[1], x.shape[1], device=x.device).tril().bool()
        return super().look_back(x, causal if self_mask is None else self_mask & causal, memory_mask)


@exercise.misconception
class StreamNotNormalisedForMemory(Decoder):
    """Your cross-attention reads the stream without norm2.

    Each sublayer reads a normalised copy of the stream, the second one too.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return x + self.cross_attention(x, memory, memory, memory_mask)


@exercise.misconception
class FeedForwardWithoutResidual(Decoder):
    """You return what the feed-forward network says, without the stream.

    It should add to the stream, not replace it.
    """

    def work(self, x: Tensor) -> Tensor:
        return self.feed_forward(self.norm3(x))


@exercise.misconception
class ReLUInTheDecoder(Decoder):
    """Your feed-forward network uses ReLU.

    So does the paper of 2017, and torch's own layer unless told otherwise. This course builds it with GELU.
    """

    def work(self, x: Tensor) -> Tensor:
        inner = self.feed_forward
        return x + inner.down(inner.up(self.norm3(x)).clamp(min=0))


@exercise.misconception
class TanhInTheDecoder(Decoder):
    """Your feed-forward network uses the tanh approximation of GELU.

    It is off by up to 0.0005 in each of the d_ff components. The layer is made with the exact `gelu`.
    """

    def work(self, x: Tensor) -> Tensor:
        inner = self.feed_forward
        return x + inner.down(tanh_approximation(inner.up(self.norm3(x))))


@exercise.misconception
class OneAttentionTwice(Decoder):
    """You use self_attention for the memory as well; cross_attention is never called.

    Looking back and looking over are two jobs, with projections of their own.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return x + self.self_attention(self.norm2(x), memory, memory, memory_mask)


@exercise.misconception
class NormsInTheWrongPlace(DecoderLayer):
    """You exchange norm2 and norm3.

    norm2 belongs to the cross-attention, norm3 to the feed-forward network; each has gains and shifts of its own.
    """

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        x = x + self.self_attention(normed, normed, normed, self_mask)
        x = x + self.cross_attention(self.norm3(x), memory, memory, memory_mask)
        return x + self.feed_forward(self.norm2(x))


@exercise.misconception
class MasksExchanged(DecoderLayer):
    """Each attention gets the other's mask.

    self_mask is about the decoder's own positions, memory_mask about the memory's.
    """

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        return super().forward(x, memory, memory_mask, self_mask)


@exercise.misconception
class CrossBeforeSelf(Decoder):
    """You look at the memory before looking back at yourself.

    First the decoder gathers what it has said, then it asks the memory with that.
    """

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        x = self.look_over(x, memory, self_mask, memory_mask)
        return self.work(self.look_back(x, self_mask, memory_mask))


@exercise.misconception
class DecoderSublayersFromTheStart(DecoderLayer):
    """You add what the three sublayers say to the x that came into the layer, one replacing the other.

    Each sublayer adds to what the one before has made of the stream.
    """

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        normed = self.norm1(x)
        y = x + self.self_attention(normed, normed, normed, self_mask)
        y = x + self.cross_attention(self.norm2(y), memory, memory, memory_mask)
        return x + self.feed_forward(self.norm3(y))


@exercise.misconception
class PostNormDecoder(DecoderLayer):
    """You normalise after each sum: that is post-norm, as in the paper of 2017.

    This course builds the pre-norm layer, whose stream is never normalised.
    """

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        x = self.norm1(x + self.self_attention(x, x, x, self_mask))
        x = self.norm2(x + self.cross_attention(x, memory, memory, memory_mask))
        return self.norm3(x + self.feed_forward(x))


squeezes(exercise)
