"""Chapter 07: GELU, dropout, the feed-forward network, encoder and decoder layer."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.forbid import DROPOUT, FUSED_ATTENTION, GELU, MULTIHEAD
from proctor.inputs import generator, normal, seeded
from proctor.properties import gradients, keeps_inputs, other_device, same_in
from qkv.model.blocks import DecoderLayer, EncoderLayer, FeedForward, dropout, gelu

Seen = dict[str, Any]

# gelu -----------------------------------------------------------------------------------------------------------------

gate = Exercise(
    gelu,
    section="GELU",
    hints=[
        "x times the probability that a standard normal number is below x. What is that at 0? At 100? At -100?",
        "The distribution function of the normal is written with the error function: `torch.erf`.",
        "erf runs from -1 to 1, a probability from 0 to 1; and its scale differs from the normal's by a factor √2.",
    ],
    forbid=[GELU],
)


def numbers() -> tuple[Tensor]:
    return (normal(3, 5, seed="x", std=2.0),)


@gate.probe
def some_numbers(gelu: Any) -> Seen:
    """3 × 5 numbers"""
    return {"gated": gelu(*numbers())}


@gate.probe
def far_out(gelu: Any) -> Seen:
    """large numbers of both signs, and 0"""
    return {"gated": gelu(torch.tensor([-30.0, -5.0, -1e-3, 0.0, 1e-3, 5.0, 30.0]))}


@gate.probe
def in_double_precision(gelu: Any) -> Seen:
    """float64 numbers, where an approximation shows"""
    return {"gated": gelu(normal(2, 4, 3, seed="x", dtype=torch.float64))}


gate.property(gradients(numbers))
gate.property(keeps_inputs(numbers))
gate.property(same_in(torch.bfloat16, numbers))
gate.property(other_device(numbers))


@gate.misconception
def tanh_approximation(x: Tensor) -> Tensor:
    """You use the tanh approximation.

    It is off by up to 0.0005. Old code used it because erf was slow; here the exact form is asked for.
    """
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


@gate.misconception
def sigmoid_approximation(x: Tensor) -> Tensor:
    """You gate with the sigmoid of 1.702·x.

    It is a rough stand-in for the normal distribution function, off by up to 0.02.
    """
    return x * torch.sigmoid(1.702 * x)


@gate.misconception
def silu(x: Tensor) -> Tensor:
    """You gate with the plain sigmoid: that is SiLU, also called swish.

    A good activation, but another one. GELU gates with the normal distribution function.
    """
    return x * torch.sigmoid(x)


@gate.misconception
def root_of_two_forgotten(x: Tensor) -> Tensor:
    """You call erf without dividing by √2.

    erf belongs to a normal of deviation 1/√2. The standard normal's distribution function is (1 + erf(x/√2))/2.
    """
    return x * (1 + torch.erf(x)) / 2


@gate.misconception
def gate_from_minus_one(x: Tensor) -> Tensor:
    """Your gate runs from -1 to 1 instead of from 0 to 1.

    Negative numbers then come back positive. Shift and halve erf to make a probability of it.
    """
    return x * torch.erf(x / math.sqrt(2))


@gate.misconception
def relu(x: Tensor) -> Tensor:
    """You cut negative numbers off: that is ReLU.

    GELU lets a little of them through, and bends smoothly where ReLU has a corner.
    """
    return x.clamp(min=0)


@gate.misconception
def not_halved(x: Tensor) -> Tensor:
    """Your result is twice as large as it should be.

    1 + erf runs from 0 to 2; half of it is a probability.
    """
    return 2 * gelu(x)


@gate.misconception
def gate_alone(x: Tensor) -> Tensor:
    """You return the gate, not the gated number.

    Φ(x) says how much passes; what passes is x.
    """
    return (1 + torch.erf(x / math.sqrt(2))) / 2


# FeedForward ----------------------------------------------------------------------------------------------------------

feeding = Exercise(
    FeedForward,
    section="Feed-forward",
    hints=[
        "Three steps: expand, gate, project. Which attribute is which?",
        "`self.activation` is a function: call it on what `self.up` made.",
        "Nothing comes after the projection; the sum with x is the layer's business.",
    ],
)


def cube(x: Tensor) -> Tensor:
    return x**3 / 3 + 1


def build_feed_forward(cls: Any) -> Any:
    return seeded(cls(4, 7, torch.tanh))


def positions() -> tuple[Tensor]:
    return (normal(2, 3, 4, seed="x"),)


@feeding.probe
def at_every_position(feed_forward: Any) -> Seen:
    """2 × 3 vectors of width 4, d_ff = 7, tanh"""
    return {"output": build_feed_forward(feed_forward)(*positions())}


@feeding.probe
def with_another_activation(feed_forward: Any) -> Seen:
    """an activation that is not zero at 0"""
    return {"output": seeded(feed_forward(3, 5, cube))(normal(6, 3, seed="x"))}


@feeding.probe
def one_vector(feed_forward: Any) -> Seen:
    """one vector, with d_ff = d_model"""
    return {"output": seeded(feed_forward(4, 4, torch.relu))(normal(4, seed="x", std=2.0))}


feeding.property(gradients(positions, build_feed_forward))
feeding.property(keeps_inputs(positions, build_feed_forward))
feeding.property(same_in(torch.float64, positions, build_feed_forward))
feeding.property(other_device(positions, build_feed_forward))


@feeding.misconception
class ActivationForgotten(FeedForward):
    """You do not apply the activation.

    Two linear layers in a row are one linear layer: the expansion would be for nothing.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(x))


@feeding.misconception
class ActivatedAtTheEnd(FeedForward):
    """You apply the activation after the projection.

    What is added to the stream would be gated, and between the two layers nothing happens that one layer could not do.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.down(self.up(x)))


@feeding.misconception
class ActivatedTwice(FeedForward):
    """You apply the activation after both layers.

    The last layer should be free to add or to subtract anything from the stream.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.down(self.activation(self.up(x))))


@feeding.misconception
class ActivationFixed(FeedForward):
    """You use GELU, whatever activation was asked for.

    The activation is an argument; `self.activation` holds it.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.down(gelu(self.up(x)))


@feeding.misconception
class InputAdded(FeedForward):
    """You add x.

    The residual connection is made by the layer around this network; here it would be added twice.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x + super().forward(x)


@feeding.misconception
class ActivatedAtTheStart(FeedForward):
    """You apply the activation to x before expanding.

    The gate belongs between the two layers, where there are d_ff components to choose from.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.up(self.activation(x)))


# dropout --------------------------------------------------------------------------------------------------------------

thinning = Exercise(
    dropout,
    section="Dropout",
    hints=[
        "Draw one random number for each entry, with exactly the call that the docstring gives.",
        "A fraction 1 - p survives. By how much must the survivors grow so that the mean stays?",
        "p = 1 drops everything: take care not to divide by 0, nor to multiply 0 by inf.",
    ],
    forbid=[DROPOUT],
    equivalents={
        "kept = torch.rand(x.shape, generator=generator, device=generator.device) >= p"
        "  ->  kept = torch.rand(x.shape, generator=generator) >= p": "the probes' generators live on the CPU",
    },
)


@thinning.probe
def a_third(dropout: Any) -> Seen:
    """p = 0.3 on 6 × 7 numbers"""
    return {"thinned": dropout(normal(6, 7, seed="x"), 0.3, generator("a"))}


@thinning.probe
def most(dropout: Any) -> Seen:
    """p = 0.8 on 2 × 3 × 5 numbers"""
    return {"thinned": dropout(normal(2, 3, 5, seed="x"), 0.8, generator("b"))}


@thinning.probe
def none_at_all(dropout: Any) -> Seen:
    """p = 0"""
    return {"thinned": dropout(normal(9, seed="x"), 0.0, generator("c"))}


@thinning.probe
def everything(dropout: Any) -> Seen:
    """p = 1, values and gradient"""
    x = normal(4, 3, seed="x").requires_grad_()
    thinned = dropout(x, 1.0, generator("d"))
    (gradient,) = torch.autograd.grad(thinned.sum(), x)
    return {"thinned": thinned, "gradient": gradient}


@thinning.probe
def at_a_draw(dropout: Any) -> Seen:
    """p equal to one of the numbers drawn"""
    p = torch.rand(3, 8, generator=generator("g"))[1, 2].item()
    return {"thinned": dropout(normal(3, 8, seed="x"), p, generator("g"))}


@thinning.probe
def twice_from_one_generator(dropout: Any) -> Seen:
    """two calls with one generator"""
    source = generator("e")
    return {name: dropout(normal(5, 4, seed=name), 0.5, source) for name in ("first", "second")}


def thinned_arguments() -> tuple[Tensor, float, torch.Generator]:
    return normal(4, 6, seed="x"), 0.4, generator("f")


thinning.property(gradients(thinned_arguments))
thinning.property(keeps_inputs(thinned_arguments))
thinning.property(same_in(torch.float64, thinned_arguments))
thinning.property(same_in(torch.bfloat16, thinned_arguments))


def draw(x: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(x.shape, generator=generator)


@thinning.misconception
def not_enlarged(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You drop, but do not enlarge what survives.

    The mean then shrinks by 1 - p in training, and not when dropout is off: the next layer meets another scale.
    """
    return x * (draw(x, generator) >= p)


@thinning.misconception
def shrunk(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You multiply the survivors by 1 - p instead of dividing.

    Fewer survive, so each must count for more, not for less.
    """
    return x * (draw(x, generator) >= p) * (1 - p)


@thinning.misconception
def enlarged_by_p(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You divide by p, the share that is dropped.

    The share that survives is 1 - p.
    """
    return x * (draw(x, generator) >= p) / p if p else x


@thinning.misconception
def wrong_ones_dropped(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You keep with probability p, and drop the others.

    p is the probability to be dropped: small p, little loss.
    """
    return x * (draw(x, generator) < p) / (1 - p) if p < 1 else x * 0


@thinning.misconception
def divided_by_zero(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """For p = 1 you divide by 0.

    0·inf is NaN, in the value or in the gradient. Nothing survives, so nothing needs to be enlarged.
    """
    return x * (draw(x, generator) >= p) / torch.tensor(1 - p, dtype=x.dtype)


@thinning.misconception
def whole_rows_dropped(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You draw one number for each row and drop whole rows.

    Dropout decides for every entry by itself.
    """
    kept = torch.rand((*x.shape[:-1], 1), generator=generator) >= p
    return x * kept / (1 - p) if p < 1 else x * 0


@thinning.misconception
def generator_ignored(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: a new one with a fixed seed draws the same pattern every time.

    Then dropout always drops the same entries, and a run cannot be repeated by seeding its generator.
    """
    return dropout(x, p, torch.Generator().manual_seed(0))


# EncoderLayer ---------------------------------------------------------------------------------------------------------

encoding = Exercise(
    EncoderLayer,
    section="The encoder layer",
    hints=[
        "Two sublayers, each of them: normalise, work, add. In which order?",
        "In self-attention query, key and value are the same tensor: the normalised one.",
        "The second sublayer starts from the stream that the first one has changed.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def build_layer(cls: Any) -> Any:
    return seeded(cls(6, 2, 10))


def encoder_stream() -> tuple[Tensor]:
    return (normal(4, 5, 6, seed="x", std=2.0),)


def hidden_keys() -> Tensor:
    return torch.tensor([5, 3, 4, 2])[:, None, None] > torch.arange(5)


@encoding.probe
def without_mask(encoder_layer: Any) -> Seen:
    """four sequences of five vectors, no mask"""
    return {"output": build_layer(encoder_layer)(*encoder_stream())}


@encoding.probe
def with_padding(encoder_layer: Any) -> Seen:
    """four sequences of five vectors, the ends of three hidden"""
    return {"output": build_layer(encoder_layer)(*encoder_stream(), hidden_keys())}


@encoding.probe
def causally(encoder_layer: Any) -> Seen:
    """one sequence of seven vectors under a causal mask, given by name"""
    layer = seeded(encoder_layer(6, 3, 4))
    return {"output": layer(normal(1, 7, 6, seed="x"), mask=torch.ones(7, 7).tril().bool())}


encoding.property(gradients(encoder_stream, build_layer))
encoding.property(keeps_inputs(encoder_stream, build_layer))
encoding.property(same_in(torch.float64, encoder_stream, build_layer))
encoding.property(other_device(encoder_stream, build_layer))


def attend_to_itself(layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return layer.attention(x, x, x, mask)


@encoding.misconception
class PostNormEncoder(EncoderLayer):
    """You normalise after each sum: that is post-norm, as in the paper of 2017.

    It needs a warm-up to train. This course builds the pre-norm layer, whose stream is never normalised.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm1(x + attend_to_itself(self, x, mask))
        return self.norm2(x + self.feed_forward(x))


@encoding.misconception
class MaskDropped(EncoderLayer):
    """You do not hand the mask to the attention.

    Padding, or the future, is then seen by everybody.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(x, None)


@encoding.misconception
class StreamNormalised(EncoderLayer):
    """You add to the normalised stream instead of to the stream.

    The way around the sublayers should carry x as it is.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm1(x)
        x = x + attend_to_itself(self, x, mask)
        x = self.norm2(x)
        return x + self.feed_forward(x)


@encoding.misconception
class NoResidual(EncoderLayer):
    """You do not add: each sublayer replaces the stream.

    Without the way around, what one layer does not pass on is lost to all later ones.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.feed_forward(self.norm2(attend_to_itself(self, self.norm1(x), mask)))


@encoding.misconception
class OnlyQueriesNormalised(EncoderLayer):
    """You normalise the queries, but not the keys and values.

    In self-attention all three are the same tensor: the normalised one.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norm1(x), x, x, mask)
        return x + self.feed_forward(self.norm2(x))


@encoding.misconception
class OneNormTwice(EncoderLayer):
    """You use norm1 for both sublayers.

    Each sublayer has a norm of its own, whose gains and shifts suit it.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm1(x), mask)
        return x + self.feed_forward(self.norm1(x))


@encoding.misconception
class SideBySide(EncoderLayer):
    """Both of your sublayers read the same x, side by side.

    Some models do so. Here the feed-forward network works on what attention has already added.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x + attend_to_itself(self, self.norm1(x), mask) + self.feed_forward(self.norm2(x))


@encoding.misconception
class FeedForwardFirst(EncoderLayer):
    """You run the feed-forward network before the attention.

    The order is part of the layer: first positions exchange what they know, then each works on it.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.feed_forward(self.norm2(x))
        return x + attend_to_itself(self, self.norm1(x), mask)


@encoding.misconception
class NormsForgotten(EncoderLayer):
    """You do not normalise at all.

    The stream grows from layer to layer, and with it the scores: attention saturates.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, x, mask)
        return x + self.feed_forward(x)


# DecoderLayer ---------------------------------------------------------------------------------------------------------

decoding = Exercise(
    DecoderLayer,
    section="The decoder layer",
    hints=[
        "Three sublayers, each of them: normalise, work, add. Which one meets the memory?",
        "In cross-attention the decoder asks: its normalised stream is the query, the memory is key and value.",
        "There are two masks. Which attention gets which?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def decoder_arguments() -> tuple[Tensor, Tensor]:
    return normal(4, 3, 6, seed="x", std=2.0), normal(4, 5, 6, seed="memory", std=2.0)


@decoding.probe
def without_masks(decoder_layer: Any) -> Seen:
    """three decoder positions, five of memory, no masks"""
    return {"output": build_layer(decoder_layer)(*decoder_arguments())}


@decoding.probe
def with_both_masks(decoder_layer: Any) -> Seen:
    """a causal mask for the decoder and a padding mask for the memory"""
    masks = torch.ones(3, 3).tril().bool(), hidden_keys()
    return {"output": build_layer(decoder_layer)(*decoder_arguments(), *masks)}


@decoding.probe
def with_the_memory_mask_alone(decoder_layer: Any) -> Seen:
    """only a memory mask, given by name"""
    return {"output": build_layer(decoder_layer)(*decoder_arguments(), memory_mask=hidden_keys())}


@decoding.probe
def as_long_as_the_memory(decoder_layer: Any) -> Seen:
    """a decoder as long as its memory, so that exchanged roles and masks still fit"""
    layer = seeded(decoder_layer(6, 3, 4))
    masks = torch.ones(4, 4).tril().bool(), torch.ones(4, 4).triu(-1).bool()
    return {"output": layer(normal(2, 4, 6, seed="x"), normal(2, 4, 6, seed="memory"), *masks)}


decoding.property(gradients(decoder_arguments, build_layer))
decoding.property(keeps_inputs(decoder_arguments, build_layer))
decoding.property(same_in(torch.float64, decoder_arguments, build_layer))
decoding.property(other_device(decoder_arguments, build_layer))


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


@decoding.misconception
class RolesExchanged(Decoder):
    """In cross-attention your memory asks and the decoder answers.

    The result then has the length of the source. The decoder asks, one query for each of its positions.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        normed = self.norm2(x)
        return x + self.cross_attention(memory, normed, normed, memory_mask)


@decoding.misconception
class MemoryNormalised(Decoder):
    """You normalise the memory with the decoder's norm.

    The encoder normalises its own output, once, at its end; norm2 belongs to the decoder's stream.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        normed = self.norm2(memory)
        return x + self.cross_attention(self.norm2(x), normed, normed, memory_mask)


@decoding.misconception
class MemoryMaskDropped(Decoder):
    """You do not hand the memory mask to the cross-attention.

    The decoder then reads the padding of the source.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return super().look_over(x, memory, self_mask, None)


@decoding.misconception
class SelfMaskDropped(Decoder):
    """You do not hand the self-mask to the self-attention.

    The decoder then sees the tokens that it has to predict.
    """

    def look_back(self, x: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return super().look_back(x, None, memory_mask)


@decoding.misconception
class CrossAttentionForgotten(Decoder):
    """You never look at the memory.

    Without cross-attention the decoder is a language model that has not read the source.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return x


@decoding.misconception
class CrossResidualForgotten(Decoder):
    """After the cross-attention you do not add the stream.

    What self-attention has gathered is then replaced by what the memory says.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return self.cross_attention(self.norm2(x), memory, memory, memory_mask)


@decoding.misconception
class ImpliedCausalMask(Decoder):
    """You add a causal mask of your own.

    The caller decides what is hidden: `self_mask` says it all, and None means that nothing is hidden.
    """

    def look_back(self, x: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        causal = torch.ones(x.shape[1], x.shape[1], device=x.device).tril().bool()
        return super().look_back(x, causal if self_mask is None else self_mask & causal, memory_mask)


@decoding.misconception
class StreamNotNormalisedForMemory(Decoder):
    """Your cross-attention reads the stream without norm2.

    Each sublayer reads a normalised copy of the stream, the second one too.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return x + self.cross_attention(x, memory, memory, memory_mask)


@decoding.misconception
class FeedForwardWithoutResidual(Decoder):
    """You return what the feed-forward network says, without the stream.

    It should add to the stream, not replace it.
    """

    def work(self, x: Tensor) -> Tensor:
        return self.feed_forward(self.norm3(x))


@decoding.misconception
class CrossBeforeSelf(Decoder):
    """You look at the memory before looking back at yourself.

    First the decoder gathers what it has said, then it asks the memory with that.
    """

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        x = self.look_over(x, memory, self_mask, memory_mask)
        return self.work(self.look_back(x, self_mask, memory_mask))


@decoding.misconception
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
