"""Chapter 07: GELU, dropout, the feed-forward network, encoder and decoder layer."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.inside.inputs import booleans, distinct, generator, normal, number, seeded, uniform, whole
from proctor.inside.properties import usual
from qkv.exercises.forbidden import DROPOUT, FUSED_ATTENTION, GELU, MULTIHEAD
from qkv.model.blocks import DecoderLayer, EncoderLayer, FeedForward, dropout, gelu

Seen = dict[str, Any]

# gelu -----------------------------------------------------------------------------------------------------------------

gate = Exercise(
    gelu,
    section="GELU",
    minutes=10,
    difficulty=1,
    why="The activation of BERT and GPT-2; its approximation by tanh differs from it by less than 0.001.",
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
    """large and tiny numbers of both signs, and 0"""
    large, tiny = uniform(3, seed="large", low=5.0, high=30.0), uniform(3, seed="tiny", high=1e-3)
    return {"gated": gelu(torch.cat([-large, -tiny, torch.zeros(1), tiny, large])), "tiny gated": gelu(tiny.clone())}


@gate.probe
def where_an_approximation_shows(gelu: Any) -> Seen:
    """numbers between -3 and -2, in float32 and float64"""
    x = [uniform(4, 6, seed="x", low=-3.0, high=-2.0) for _ in range(2)]  # small results, so little is let pass
    return {"gated": gelu(x[0]), "gated in float64": gelu(x[1].double())}


@gate.probe
def of_any_shape(gelu: Any) -> Seen:
    """one number, without and with dimensions, and numbers in three dimensions"""
    shapes: list[tuple[int, ...]] = [(), (1,), (1, 4), (4, 1), (2, 1, 3)]
    return {f"gated, shape {shape}": gelu(uniform(*shape, seed="x", low=-1.5, high=3.0)) for shape in shapes}


usual(gate, numbers)


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


@gate.misconception
def divided_by_two_inside(x: Tensor) -> Tensor:
    """You divide by 2 inside of erf; it should be the root of 2.

    The variance of the standard normal is 1, that of the bell curve behind erf is 1/2: deviations differ by √2.
    """
    return x * (1 + torch.erf(x / 2)) / 2


@gate.misconception
def multiplied_by_the_root(x: Tensor) -> Tensor:
    """You multiply by √2 inside of erf instead of dividing.

    The gate then closes twice as fast as it should: at x = 1 it lets 98 % pass where Φ(1) is 84 %.
    """
    return x * (1 + torch.erf(x * math.sqrt(2))) / 2


# FeedForward ----------------------------------------------------------------------------------------------------------

feeding = Exercise(
    FeedForward,
    section="Feed-forward",
    minutes=10,
    difficulty=1,
    why="At the usual width two thirds of a layer's parameters are here, and no word sees another one.",
    hints=[
        "Three steps: expand, gate, project. Which attribute is which?",
        "`self.activation` is a function: call it on what `self.up` made.",
        "Nothing comes after the projection; the sum with x is the layer's business.",
    ],
)


def cube(x: Tensor) -> Tensor:
    return x**3 / 3 + 1


def fed(cls: Any, d_model: int, d_ff: int, activation: Any) -> Any:
    for name in ("layer_norm.weight", "layer_norm.bias"):  # drawn for answers that have a norm inside
        normal(d_model, seed=f"parameter {name}")
    return seeded(cls(d_model, d_ff, activation))


def build_feed_forward(cls: Any) -> Any:
    return fed(cls, 4, 7, torch.tanh)


def positions() -> tuple[Tensor]:
    return (normal(2, 3, 4, seed="x", std=4.0),)


@feeding.probe
def at_every_position(feed_forward: Any) -> Seen:
    """2 × 3 vectors of width 4, d_ff = 7, tanh"""
    return {"output": build_feed_forward(feed_forward)(*positions())}


@feeding.probe
def with_another_activation(feed_forward: Any) -> Seen:
    """an activation that is not zero at 0"""
    return {"output": fed(feed_forward, 6, 9, cube)(normal(3, 6, seed="x", std=2.0))}


@feeding.probe
def one_vector(feed_forward: Any) -> Seen:
    """one vector, with d_ff = d_model"""
    return {"output": fed(feed_forward, 7, 7, torch.sin)(normal(7, seed="x", std=4.0))}


@feeding.probe
def a_module_for_activation(feed_forward: Any) -> Seen:
    """an activation that is a module"""
    return {"output": fed(feed_forward, 5, 9, nn.Softplus(beta=2))(normal(3, 5, seed="x", std=4.0))}


@feeding.probe
def widths_of_one(feed_forward: Any) -> Seen:
    """sizes of 1: d_model, d_ff, both, and the dimensions in front"""
    n, d, width = distinct(5, 12, 3, seed="sizes")
    cases = [(1, width, (n, 1)), (d, 1, (n, d)), (1, 1, (1,)), (d, width, (1, 1, d)), (d, width, (n, 1, d))]
    return {
        f"output, d_model {d_model}, d_ff {d_ff}, x {shape}": fed(feed_forward, d_model, d_ff, cube)(
            normal(*shape, seed="x", std=4.0)
        )
        for d_model, d_ff, shape in cases
    }


usual(feeding, positions, build_feed_forward)


class Fed(FeedForward):
    """The reference in three methods, so that each can be wrong by itself."""

    def forward(self, x: Tensor) -> Tensor:
        return self.close(x, self.down(self.gate(self.up(x))))

    def gate(self, hidden: Tensor) -> Tensor:
        return self.activation(hidden)

    def close(self, x: Tensor, output: Tensor) -> Tensor:
        return output


@feeding.misconception
class ActivationForgotten(Fed):
    """You do not apply the activation.

    Two linear layers in a row are one linear layer: the expansion would be for nothing.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return hidden


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
class ActivationFixed(Fed):
    """You use GELU, whatever activation was asked for.

    The activation is an argument; `self.activation` holds it.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return gelu(hidden)


@feeding.misconception
class AlwaysReLU(Fed):
    """You use ReLU, whatever activation was asked for.

    The paper of 2017 has ReLU here, and much code has it written in. The activation is an argument; `self.activation`
    holds it.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return hidden.clamp(min=0)


@feeding.misconception
class InputAdded(Fed):
    """You add x.

    The residual connection is made by the layer around this network; here it would be added twice.
    """

    def close(self, x: Tensor, output: Tensor) -> Tensor:
        return x + output


@feeding.misconception
class NormalisedInside(Fed):
    """You add x and normalise inside of the network, with a norm that you made for it.

    Some code keeps residual connection and norm in here. In this course they belong to the layer around it, which
    would do both again.
    """

    def __init__(self, d_model: int, d_ff: int, activation: Any) -> None:
        super().__init__(d_model, d_ff, activation)
        self.layer_norm = nn.LayerNorm(d_model)

    def close(self, x: Tensor, output: Tensor) -> Tensor:
        return self.layer_norm(x + output)


@feeding.misconception
class GatedByItself(Fed):
    """You multiply the components by their own activation, as gated networks do.

    A gated network (GLU, SwiGLU) has a second expansion for its gate. Here the activation takes the place of the
    components; GELU already multiplies each of them by how large it is.
    """

    def gate(self, hidden: Tensor) -> Tensor:
        return hidden * self.activation(hidden)


@feeding.misconception
class BiasesForgotten(FeedForward):
    """You use the weights of both layers and not their biases.

    `nn.Linear` has a bias unless told otherwise. Call the layer, and it does both.
    """

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(x @ self.up.weight.T) @ self.down.weight.T


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
    minutes=15,
    difficulty=2,
    why="Scaling by what is kept makes training and use agree on average.",
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


def settled(name: str) -> torch.Generator:
    """A generator to hand over. torch's own starts anew, so that who draws from that one always draws the same."""
    torch.manual_seed(whole(0, 2**31, seed=f"torch's own {name}"))
    return generator(name)


@thinning.probe
def a_third(dropout: Any) -> Seen:
    """p about 0.3, on 6 × 7 numbers"""
    return {"thinned": dropout(normal(6, 7, seed="x"), number(0.25, 0.4, seed="p"), settled("a"))}


@thinning.probe
def most(dropout: Any) -> Seen:
    """p about 0.8, on 2 × 5 × 9 numbers"""
    return {"thinned": dropout(normal(2, 5, 9, seed="x"), number(0.7, 0.85, seed="p"), settled("b"))}


@thinning.probe
def none_at_all(dropout: Any) -> Seen:
    """p = 0"""
    return {"thinned": dropout(normal(9, seed="x"), 0.0, settled("c"))}


@thinning.probe
def everything(dropout: Any) -> Seen:
    """p = 1, values and gradient, and then a p below 1 with the same numbers"""
    x = normal(4, 3, seed="x").requires_grad_()
    source = settled("d")
    thinned = dropout(x, 1.0, source)
    gradient = torch.zeros_like(x)
    if thinned.requires_grad:  # zeros that were made anew have no graph, and that is right here
        (found,) = torch.autograd.grad(thinned.sum(), x, allow_unused=True)
        gradient = gradient if found is None else found
    later = dropout(normal(5, 7, seed="later"), 0.4, settled("later"))
    return {"thinned": thinned, "gradient": gradient, "thinned by 0.4": later}


@thinning.probe
def at_a_draw(dropout: Any) -> Seen:
    """p equal to one of the numbers drawn"""
    p = torch.rand(3, 8, generator=generator("g"))[1, 2].item()
    return {"thinned": dropout(normal(3, 8, seed="x"), p, settled("g"))}


@thinning.probe
def twice_from_one_generator(dropout: Any) -> Seen:
    """two calls with one generator"""
    source = settled("e")
    return {name: dropout(normal(5, 4, seed=name), 0.5, source) for name in ("first", "second")}


@thinning.probe
def of_every_shape(dropout: Any) -> Seen:
    """shapes with sizes of 1, and one number without dimensions"""
    n, m = distinct(5, 12, 2, seed="sizes")
    source = settled("shapes")
    shapes: list[tuple[int, ...]] = [(1, n), (m, 1), (2, 1, n), (1,), ()]
    return {f"thinned, shape {shape}": dropout(normal(*shape, seed="x"), 0.45, source) for shape in shapes}


def thinned_arguments() -> tuple[Tensor, float, torch.Generator]:
    return normal(4, 6, seed="x"), 0.4, settled("f")


# The docstring's call draws on the generator's device, and an answer may multiply by it as it is.
usual(thinning, thinned_arguments, without=("other_device",))


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


@thinning.misconception
def drawn_from_torchs_own(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You do not use the generator that you are given: you draw from torch's global one.

    Whoever seeds the generator expects to meet the same pattern again; and anything else that draws from the global
    one changes yours.
    """
    kept = torch.rand(x.shape) >= p
    return x * kept / (1 - p) if p < 1 else x * 0


@thinning.misconception
def p_for_keeping(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You take p for the probability to be kept: you keep where the draw is below p, and divide by p.

    Some courses and old libraries mean that by p. Here, as in torch, p is the probability to be dropped.
    """
    return x * (draw(x, generator) < p) / p


@thinning.misconception
def all_kept_at_one(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """For p = 1 you return x as it is.

    p = 1 drops everything: the result is 0 everywhere, and so is the gradient.
    """
    return x if p == 1 else dropout(x, p, generator)


@thinning.misconception
def kept_above_p_only(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You drop a number whose draw equals p.

    It happens once in sixteen million draws, but for p = 0 it would drop a number now and then. Kept is where the draw
    is p or more: >=.
    """
    return x * (draw(x, generator) > p) / (1 - p) if p < 1 else x * 0


@thinning.misconception
def enlarged_by_what_survived(x: Tensor, p: float, generator: torch.Generator) -> Tensor:
    """You divide by the share that survived this time.

    That share scatters around 1 - p from call to call, and what you divide by with it. Divide by 1 - p.
    """
    kept = (draw(x, generator) >= p).to(x.dtype)
    return x * kept / kept.mean().clamp(min=1e-6)


# EncoderLayer ---------------------------------------------------------------------------------------------------------

encoding = Exercise(
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


def masks_that_broadcast(batch: int, query: int, key: int) -> list[Tensor]:
    """Masks of every shape that broadcasts to (batch, query, key); each row allows its first key at least."""
    shapes = [
        (key,), (1, key), (query, key), (1, 1, key), (1, query, key), (batch, 1, key), (batch, query, key),
    ]  # fmt: skip
    masks = [booleans(*shape, seed=f"mask {shape}") for shape in shapes]
    for mask in masks:
        mask[..., 0] = True
    return [*masks, torch.ones(query, key, dtype=torch.bool)]


def named_by_shape(mask: Tensor) -> str:
    return f"output, mask {tuple(mask.shape)}{', all True' if bool(mask.all()) else ''}"


@encoding.probe
def with_masks_of_every_shape(encoder_layer: Any) -> Seen:
    """masks of every shape that broadcasts to (batch, seq, seq)"""
    layer = build_layer(encoder_layer)
    return {named_by_shape(mask): layer(*encoder_stream(), mask) for mask in masks_that_broadcast(4, 5, 5)}


@encoding.probe
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


usual(encoding, encoder_stream, build_layer, alike=stream_and_mask)


def loud(layer: Any) -> Any:
    """The same layer, but what reaches its activation is near -2.5, where approximations of GELU are worst beside it,
    and what leaves it is made large."""
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name.endswith("up.weight"):
                parameter.mul_(0.1)
            elif name.endswith("up.bias"):
                parameter.fill_(-2.5)
            elif name.endswith("down.weight"):
                parameter.mul_(300.0)
    return layer


@encoding.property
def where_the_gelu_shows(encoder_layer: Any) -> Seen:
    """a feed-forward network whose activation meets numbers near -2.5, with large weights behind it

    Where GELU is small your numbers differ. The feed-forward network is made with the exact
    `gelu`; the tanh approximation, torch's own included, is off by up to 0.0005.
    """
    return {"output": loud(build_layer(encoder_layer))(*encoder_stream())}


@encoding.property
def where_eps_decides(encoder_layer: Any) -> Seen:
    """a stream that hardly varies, so that eps decides

    On vectors that hardly vary, where eps decides, your numbers differ. The norms are `nn.LayerNorm(d_model)`, whose
    eps is 1e-5.
    """
    return {"output": build_layer(encoder_layer)(normal(2, 4, 6, seed="x", std=3e-3))}


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


@encoding.misconception
class SideBySideWithOneNorm(EncoderLayer):
    """Both of your sublayers read norm1(x), side by side; norm2 is not used.

    GPT-J is built so. Here the feed-forward network works on what attention has already added, through its own norm.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        normed = self.norm1(x)
        return x + attend_to_itself(self, normed, mask) + self.feed_forward(normed)


@encoding.misconception
class ReLUInside(EncoderLayer):
    """Your feed-forward network uses ReLU.

    So does the paper of 2017, and torch's own layer unless told otherwise. This course builds it with GELU.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm1(x), mask)
        inner = self.feed_forward
        return x + inner.down(inner.up(self.norm2(x)).clamp(min=0))


@encoding.misconception
class AnswersNormalised(EncoderLayer):
    """You normalise what comes out of each sublayer, not what goes in.

    Some models do so. In pre-norm each sublayer reads a normalised stream, and what it says is added as it is.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.norm1(attend_to_itself(self, x, mask))
        return x + self.norm2(self.feed_forward(x))


@encoding.misconception
class NormsExchanged(EncoderLayer):
    """You exchange norm1 and norm2.

    norm1 belongs to the attention, norm2 to the feed-forward network; each has gains and shifts of its own.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm2(x), mask)
        return x + self.feed_forward(self.norm1(x))


@encoding.misconception
class BothFromTheStart(EncoderLayer):
    """After the feed-forward network you add the x that came into the layer, not the stream that attention has changed.

    What attention gathered is then only seen through the feed-forward network. Each sublayer adds to what is there.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        attended = x + attend_to_itself(self, self.norm1(x), mask)
        return x + self.feed_forward(self.norm2(attended))


@encoding.misconception
class TanhInside(EncoderLayer):
    """Your feed-forward network uses the tanh approximation of GELU.

    It is off by up to 0.0005 in each of the d_ff components. The layer is made with the exact `gelu`.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + attend_to_itself(self, self.norm1(x), mask)
        inner = self.feed_forward
        return x + inner.down(tanh_approximation(inner.up(self.norm2(x))))


# DecoderLayer ---------------------------------------------------------------------------------------------------------

decoding = Exercise(
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


@decoding.probe
def with_the_self_mask_alone(decoder_layer: Any) -> Seen:
    """only a self-mask, given by name, and the two masks with None in either place"""
    layer, causal = build_layer(decoder_layer), torch.ones(3, 3).tril().bool()
    return {
        "output, self_mask by name": layer(*decoder_arguments(), self_mask=causal.clone()),
        "output, None behind": layer(*decoder_arguments(), causal.clone(), None),
        "output, None before": layer(*decoder_arguments(), None, hidden_keys()),
    }


@decoding.probe
def with_two_masks_of_every_shape(decoder_layer: Any) -> Seen:
    """masks of every shape that broadcasts to (batch, target, target) and to (batch, target, source)"""
    layer = build_layer(decoder_layer)
    pairs = zip(masks_that_broadcast(4, 3, 3), reversed(masks_that_broadcast(4, 3, 5)), strict=True)
    return {f"output, masks {tuple(a.shape)} and {tuple(b.shape)}": layer(*decoder_arguments(), a, b) for a, b in pairs}


@decoding.probe
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


usual(decoding, decoder_arguments_in_any_dtype, build_wide_layer, alike=decoder_arguments_of_one_shape)


@decoding.property
def where_the_decoders_gelu_shows(decoder_layer: Any) -> Seen:
    """a feed-forward network whose activation meets numbers near -2.5, with large weights behind it

    Where GELU is small your numbers differ. The feed-forward network is made with the exact
    `gelu`; the tanh approximation, torch's own included, is off by up to 0.0005.
    """
    return {"output": loud(build_layer(decoder_layer))(*decoder_arguments())}


@decoding.property
def where_the_decoders_eps_decides(decoder_layer: Any) -> Seen:
    """a stream that hardly varies, so that eps decides

    On vectors that hardly vary, where eps decides, your numbers differ. The norms are `nn.LayerNorm(d_model)`, whose
    eps is 1e-5.
    """
    x, memory = normal(2, 4, 6, seed="x", std=3e-3), normal(2, 3, 6, seed="memory")
    return {"output": build_layer(decoder_layer)(x, memory)}


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
class ReLUInTheDecoder(Decoder):
    """Your feed-forward network uses ReLU.

    So does the paper of 2017, and torch's own layer unless told otherwise. This course builds it with GELU.
    """

    def work(self, x: Tensor) -> Tensor:
        inner = self.feed_forward
        return x + inner.down(inner.up(self.norm3(x)).clamp(min=0))


@decoding.misconception
class TanhInTheDecoder(Decoder):
    """Your feed-forward network uses the tanh approximation of GELU.

    It is off by up to 0.0005 in each of the d_ff components. The layer is made with the exact `gelu`.
    """

    def work(self, x: Tensor) -> Tensor:
        inner = self.feed_forward
        return x + inner.down(tanh_approximation(inner.up(self.norm3(x))))


@decoding.misconception
class OneAttentionTwice(Decoder):
    """You use self_attention for the memory as well; cross_attention is never called.

    Looking back and looking over are two jobs, with projections of their own.
    """

    def look_over(self, x: Tensor, memory: Tensor, self_mask: Tensor | None, memory_mask: Tensor | None) -> Tensor:
        return x + self.self_attention(self.norm2(x), memory, memory, memory_mask)


@decoding.misconception
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


@decoding.misconception
class MasksExchanged(DecoderLayer):
    """Each attention gets the other's mask.

    self_mask is about the decoder's own positions, memory_mask about the memory's.
    """

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        return super().forward(x, memory, memory_mask, self_mask)


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
