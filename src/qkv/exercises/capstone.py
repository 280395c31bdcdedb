"""Chapter 17: attention that knows distances, a small GPT, the loss that trains it, and how it writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.inside.inputs import booleans, distinct, generator, integers, normal, permutation, seeded, whole
from proctor.inside.properties import usual
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.exercises.tiny_gpt import tiny_gpt as tiny_gpt
from qkv.model.capstone import Model, RotaryAttention, TinyGPT, next_token_loss, write_story
from qkv.model.heads import merge_heads, split_heads
from qkv.model.masks import causal_mask
from qkv.model.positions import rotate, sinusoidal_positions

Seen = dict[str, Any]


def if_it_runs(look: Callable[[], Seen]) -> Seen:
    """What is seen, or that the code raised: by which exception is an accident of how it is written."""
    try:
        return {**look(), "raises an error": False}
    except NotImplementedError:  # nothing is written yet
        raise
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
        return {"raises an error": True}


# RotaryAttention ------------------------------------------------------------------------------------------------------

turning = Exercise(
    RotaryAttention,
    section="Heads that know distances",
    minutes=20,
    difficulty=2,
    why="Attention as Llama and its kin have it: no position is added anywhere, and every head knows distances.",
    hints=[
        "It is your MultiHeadAttention of one sequence with itself, and two lines more. Which two of q, k and v meet "
        "in a score?",
        "`rotate` counts positions along the last dimension but one. What stands there before the split into heads, "
        "and what after it?",
        "Every head has the same clocks: its own first pair is the fastest. So the heads are split first, then turned.",
        "A mask (batch, seq, seq) has no place for heads yet. Where should a dimension of size 1 go, so that it also "
        "works for a mask (seq, seq)?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
    equivalents={
        "return torch.atleast_2d(mask).unsqueeze(-3)  ->  return mask.unsqueeze(-3)": (
            "the same for every mask that has a query dimension"
        ),
        "return rotate(x, torch.arange(x.shape[-2], device=x.device))  ->  "
        "return rotate(x, torch.arange(x.shape[2], device=x.device))": (
            "heads have four dimensions: batch, head, seq, d_head"
        ),
    },
)


def attention_of(cls: Any, d_model: int, n_heads: int) -> nn.Module:
    return seeded(cls(d_model, n_heads))


def attended(cls: Any, shape: tuple[int, int, int], n_heads: int, mask: Tensor | None = None) -> Seen:
    return {"output": attention_of(cls, shape[-1], n_heads)(normal(*shape, seed="x", std=1.5), mask)}


@turning.probe
def two_heads(rotary: Any) -> Seen:
    """two sequences of five vectors, width 12, two heads, no mask"""
    return {"output": attention_of(rotary, 12, 2)(normal(2, 5, 12, seed="x", std=1.5))}


@turning.probe
def one_head(rotary: Any) -> Seen:
    """one head, which has the whole width"""
    return attended(rotary, (3, 4, 8), 1)


@turning.probe
def heads_of_one_pair(rotary: Any) -> Seen:
    """three heads of one pair of columns each"""
    return attended(rotary, (2, 5, 6), 3)


@turning.probe
def as_many_heads_as_vectors(rotary: Any) -> Seen:
    """four vectors, four heads, under a causal mask (seq, seq) given by name"""
    x = normal(3, 4, 16, seed="x", std=1.5)
    return {"output": attention_of(rotary, 16, 4)(x, mask=torch.ones(4, 4).tril().bool())}


@turning.probe
def far_apart(rotary: Any) -> Seen:
    """sequences of some fifty vectors, so that quick pairs turn several times"""
    return attended(rotary, (2, whole(40, 60, seed="long"), 16), 2)


@turning.probe
def a_mask_for_each_sequence(rotary: Any) -> Seen:
    """a mask (batch, 1, seq) that hides the ends; two sequences, two heads"""
    lengths = torch.tensor(distinct(2, 6, 2, seed="lengths"))
    return attended(rotary, (2, 6, 8), 2, torch.arange(6) < lengths[:, None, None])


@turning.probe
def a_mask_for_each_query(rotary: Any) -> Seen:
    """a mask (batch, seq, seq) that differs for every query; three sequences, three heads"""
    mask = booleans(3, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False  # a row that allows nothing is undefined, also for the reversed mask
    return attended(rotary, (3, 5, 12), 3, mask)


@turning.probe
def more_heads_than_sequences(rotary: Any) -> Seen:
    """a mask (batch, seq, seq) that differs for every query; two sequences, four heads"""
    mask = booleans(2, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False
    mask[1, :, 1:3] = ~mask[0, :, 1:3]  # so that no mask is like the other
    return if_it_runs(lambda: attended(rotary, (2, 5, 16), 4, mask))


@turning.probe
def loud_vectors(rotary: Any) -> Seen:
    """scores of some hundreds, under a mask"""
    mask = torch.ones(6, 6).tril().bool()
    return {"output": attention_of(rotary, 12, 2)(normal(2, 6, 12, seed="loud", std=15.0), mask)}


@turning.probe
def attentions_of_size_one(rotary: Any) -> Seen:
    """sizes of 1: the batch, the sequence, both, the heads"""
    batch, seq = distinct(2, 8, 2, seed="sizes")
    cases = [(1, seq, 8, 2), (batch, 1, 12, 3), (1, 1, 2, 1), (batch, seq, 2, 1)]
    return {
        f"output, {b} × {n} × {d}, heads {h}": attention_of(rotary, d, h)(normal(b, n, d, seed="x", std=1.5))
        for b, n, d, h in cases
    }


def stream_and_mask() -> tuple[Tensor, Tensor]:
    mask = booleans(2, 5, 5, seed="usual mask")
    mask[..., 0] = True
    return normal(2, 5, 16, seed="usual x"), mask


def build_attention(cls: Any) -> nn.Module:
    return attention_of(cls, 16, 2)


usual(turning, stream_and_mask, build_attention)


@turning.property
def masks_of_every_shape(rotary: Any) -> Seen:
    """masks (batch, seq, seq) in which some sizes are 1, or the batch is missing

    Some mask that broadcasts to (batch, seq, seq) is not understood. Sizes of 1 are stretched, and a missing dimension
    is the one in front: torch's own operations do both by themselves.
    """
    x, full = stream_and_mask()
    masks = [full, full[:1], full[:, :1], full[:1, :1], full[0], full[0, :1], torch.ones_like(full)]
    return {f"output, mask {i}: {tuple(m.shape)}": build_attention(rotary)(x, m) for i, m in enumerate(masks)}


@turning.property
def called_again(rotary: Any) -> Seen:
    """the same layer, called once more on sequences of another length, without a mask

    The first call is right and the second is not: the layer keeps something from one call to the next. What it gives
    should depend on its weights and its arguments alone.
    """
    attention = build_attention(rotary)
    attention(*stream_and_mask())
    return {"output of the second call": attention(normal(3, 7, 16, seed="second x"))}


def turned_by(x: Tensor, factor: int) -> Tensor:
    """Turn once more, by so many times the position."""
    return rotate(x, factor * torch.arange(x.shape[-2], device=x.device))


@turning.misconception
class NotTurned(RotaryAttention):
    """The order of the vectors makes no difference to your scores.

    Queries and keys are not turned, or all of a head are turned alike, which cancels: `rotate` counts along the last
    dimension but one, and in (batch, seq, head, d_head) these are the heads. It is the place in the text that counts.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return x


@turning.misconception
class ValuesTurned(RotaryAttention):
    """You turn the values as well.

    Only what meets in a score needs a position. Turned values are added up at different angles, and what is fetched
    would depend on where it stood.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q, k, turned_by(v, 1), mask)


@turning.misconception
class OnlyQueriesTurned(RotaryAttention):
    """You turn the queries and not the keys, so a score depends on where the query stands and not on the distance.

    Turned both, the two angles meet in the dot product and only their difference is left.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q, turned_by(k, -1), v, mask)


@turning.misconception
class OnlyKeysTurned(RotaryAttention):
    """You turn the keys and not the queries, so a score depends on where the key stands and not on the distance.

    Turned both, the two angles meet in the dot product and only their difference is left.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(turned_by(q, -1), k, v, mask)


@turning.misconception
class TurnedAgainstEachOther(RotaryAttention):
    """You turn the keys the other way round, so a score depends on the sum of the two positions.

    Both turn the same way; it is the dot product that takes the difference.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q, turned_by(k, -2), v, mask)


@turning.misconception
class TurnedTwice(RotaryAttention):
    """You turn queries and keys twice, so every distance counts double.

    One turn is enough: position times frequency. Perhaps a helper of yours turns them already.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return turned_by(x, 2)


@turning.misconception
class TurnedBeforeTheSplit(RotaryAttention):
    """You turn the whole width and split into heads afterwards, so only the first head has the quick pairs.

    The frequencies then run over d_model, and the last heads hardly know that there is an order. Split first: then
    every head has all of them.
    """

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = turned_by(self.q_proj(x), 1), turned_by(self.k_proj(x), 1), self.v_proj(x)
        return split_heads(q, self.n_heads), split_heads(k, self.n_heads), split_heads(v, self.n_heads)

    def _turn(self, x: Tensor) -> Tensor:
        return x


@turning.misconception
class TurnedBeforeTheProjection(RotaryAttention):
    """You turn the input, and project then.

    A projection mixes what was turned by different angles, and the difference of positions is lost. Turn what comes
    out of q_proj and k_proj.
    """

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.q_proj(turned_by(x, 1)), self.k_proj(turned_by(x, 1)), self.v_proj(x)
        return split_heads(q, self.n_heads), split_heads(k, self.n_heads), split_heads(v, self.n_heads)

    def _turn(self, x: Tensor) -> Tensor:
        return x


@turning.misconception
class BackwardsInTime(RotaryAttention):
    """You turn the wrong way: by minus the position.

    Scores then belong to the mirrored distance. Weights that were trained elsewhere count on the direction, and so
    does the grader.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return turned_by(x, -1)


@turning.misconception
class HalvesForPairs(RotaryAttention):
    """You pair column i with column i + d_head/2; in this course neighbours (2i, 2i+1) are a pair.

    Both exist: Llama's published code pairs halves, the paper pairs neighbours. Trained by one and run by the other,
    weights are worthless.
    """

    def _turn(self, x: Tensor) -> Tensor:
        neighbours = x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2)
        return super()._turn(neighbours).unflatten(-1, (-1, 2)).transpose(-2, -1).flatten(-2)


@turning.misconception
class FrequenciesOfTheWholeWidth(RotaryAttention):
    """Your frequencies are base^(-2i/d_model) although a head has only d_head columns.

    They fall too slowly then, and no pair of a head is slow enough to tell far distances apart.
    """

    def _turn(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[-2], device=x.device)
        return rotate(x, positions, base=10000.0 ** (1 / self.n_heads))


@turning.misconception
class OneFrequency(RotaryAttention):
    """All your pairs turn equally fast.

    Then distances 0, 44 and 88 look nearly alike, since 44 is seven whole turns. The pairs are clocks of many speeds.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return rotate(x, torch.arange(x.shape[-2], device=x.device), base=1.0)


@turning.misconception
class ScaledByTheModelWidth(RotaryAttention):
    """You divide the scores by the square root of d_model instead of d_head.

    A head's dot product has only d_head terms, and its spread grows with those.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q / math.sqrt(self.n_heads), k, v, mask)


@turning.misconception
class NotScaled(RotaryAttention):
    """Your scores are not divided by the square root of d_head.

    Turning changes no length: the spread of the scores still grows with the width, and the softmax saturates.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q * math.sqrt(q.shape[-1]), k, v, mask)


@turning.misconception
class SoftmaxOverQueries(RotaryAttention):
    """Your softmax runs over the queries instead of the keys.

    Each query distributes its own attention: a row of weights, over the keys, should sum to 1.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return (scores if mask is None else scores.masked_fill(~mask, -1e4)).softmax(dim=-2) @ v


@turning.misconception
class FutureHidden(RotaryAttention):
    """You hide later keys from every query, asked or not.

    Here the caller says what is hidden, and without a mask nothing is. TinyGPT brings the causal mask.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        past = causal_mask(q.shape[-2]).to(q.device)
        return super()._attend(q, k, v, past if mask is None else past & mask)


@turning.misconception
class MaskIgnored(RotaryAttention):
    """You never use the mask.

    Without it a token sees its own future, and a GPT that can look ahead learns to copy.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None


@turning.misconception
class MaskReversed(RotaryAttention):
    """You hide what the mask allows and show what it hides.

    In this course True means "may attend". nn.MultiheadAttention has it the other way round.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(None if mask is None else ~mask)


@turning.misconception
class MaskMeetsTheHeads(RotaryAttention):
    """You pass a mask (batch, seq, seq) on as it is, and its batch dimension meets the heads.

    Broadcasting aligns from the right: against (batch, head, seq, seq) the mask of sequence 0 is applied to head 0 of
    every sequence. Where the two counts differ it fails, where they are equal it goes wrong silently.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return mask


@turning.misconception
class MaskRowsMeetTheHeads(RotaryAttention):
    """You put the heads' dimension second in every mask: the rows of a mask (seq, seq) then meet the heads.

    A mask (seq, seq) becomes (seq, 1, seq), and broadcasting aligns from the right. Count the place from the right as
    well.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None if mask is None else mask.unsqueeze(1)


@turning.misconception
class OneWideHead(RotaryAttention):
    """You attend with one head of the full width; n_heads changes nothing.

    One head has one set of weights for each query, hence one average. Cut queries, keys and values into heads first.
    """

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split_heads(self.q_proj(x), 1), split_heads(self.k_proj(x), 1), split_heads(self.v_proj(x), 1)


@turning.misconception
class OneProjectionForAll(RotaryAttention):
    """You use q_proj for queries, keys and values alike.

    Asking, being found and answering are three roles, and each has its own projection.
    """

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q = split_heads(self.q_proj(x), self.n_heads)
        return q, q, q


@turning.misconception
class NoOutputProjection(RotaryAttention):
    """You return the merged heads without the output projection.

    Then the heads never meet: each owns its columns of the result. out_proj mixes what they found.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self._project(x)
        return merge_heads(self._attend(self._turn(q), self._turn(k), v, self._for_every_head(mask)))


@turning.misconception
class ResidualAdded(RotaryAttention):
    """You add the input to the output.

    The residual connection goes around this layer: TinyGPT adds it. The layer itself returns what the heads found.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x + super().forward(x, mask)


@turning.misconception
class WeightsReturnedToo(RotaryAttention):
    """You return two things, as torch's own layer does: the output alone is asked for.

    TinyGPT adds this output to its stream, and a tuple cannot be added.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(x, mask), None


# TinyGPT --------------------------------------------------------------------------------------------------------------

building = Exercise(
    TinyGPT,
    section="The whole model",
    minutes=25,
    difficulty=2,
    points=2.0,
    why="This is the model that you train and hand in. All that is large about a large one are its sizes.",
    hints=[
        "Four things in a row: look the tokens up, make a mask, go through the layers, normalise and score.",
        "A layer is that of chapter 7: each sublayer reads a normalised copy of the stream and adds to the stream.",
        "`layer` is a ModuleDict: its parts are layer['norm1'], layer['attention'] and so on.",
        "No position is added to the tokens, and nothing is scaled. The output is a layer of its own, `out`.",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
)


def build_gpt(cls: Any) -> Any:
    return seeded(cls(11, 16, 2, 2, 10))


def some_texts() -> tuple[Tensor]:
    return (integers(0, 11, 3, 6, seed="ids"),)


@building.probe
def three_texts(gpt: Any) -> Seen:
    """three texts of six tokens, two layers"""
    return {"logits": build_gpt(gpt)(*some_texts())}


@building.probe
def three_layers(gpt: Any) -> Seen:
    """two texts of four tokens, three layers of three heads"""
    return {"logits": seeded(gpt(9, 12, 3, 3, 7))(integers(0, 9, 2, 4, seed="ids"))}


@building.probe
def one_layer(gpt: Any) -> Seen:
    """two texts of five tokens, one layer"""
    return {"logits": seeded(gpt(13, 8, 2, 1, 6))(integers(0, 13, 2, 5, seed="ids"))}


@building.probe
def a_long_text(gpt: Any) -> Seen:
    """a text of some forty tokens"""
    return {"logits": build_gpt(gpt)(integers(0, 11, 1, whole(36, 46, seed="long"), seed="long"))}


@building.probe
def two_ends(gpt: Any) -> Seen:
    """two texts that differ in their last token alone"""
    ids = integers(0, 11, 1, 7, seed="beginning").repeat(2, 1)
    ids[:, -1] = torch.tensor(distinct(0, 11, 2, seed="ends"))
    logits = build_gpt(gpt)(ids)
    return {"logits": logits}


@building.probe
def models_of_size_one(gpt: Any) -> Seen:
    """sizes of 1: texts, tokens, vocabulary, heads, layers, d_ff"""
    batch, seq, width = distinct(2, 8, 3, seed="sizes")
    cases = [
        (1, seq, (9, 8, 2, 2, width)), (batch, 1, (7, 6, 3, 2, width)), (batch, seq, (1, 8, 2, 2, width)),
        (batch, seq, (5, 4, 1, 1, 1)), (1, 1, (3, 2, 1, 1, 1)),
    ]  # fmt: skip
    return {
        f"logits, {b} × {n}, sizes {sizes}": seeded(gpt(*sizes))(integers(0, sizes[0], b, n, seed="ids"))
        for b, n, sizes in cases
    }


usual(building, some_texts, build_gpt)


@building.property
def called_on_another_length(gpt: Any) -> Seen:
    """the same model, called once more on a longer text

    The first call is right and the second is not: the model keeps something from one call to the next, perhaps a mask.
    What it gives should depend on its weights and its arguments alone.
    """
    model = build_gpt(gpt)
    model(*some_texts())
    return {"logits of the second call": model(integers(0, 11, 2, 9, seed="longer"))}


def loud_inside(model: Any) -> Any:
    """The same model, but what reaches its activations is near -2.5, where approximations of GELU are worst beside it,
    and what leaves them is made large."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("up.weight"):
                parameter.mul_(0.1)
            elif name.endswith("up.bias"):
                parameter.fill_(-2.5)
            elif name.endswith("down.weight"):
                parameter.mul_(300.0)
    return model


@building.property
def where_the_gelu_shows(gpt: Any) -> Seen:
    """feed-forward networks whose activation meets numbers near -2.5, with large weights behind it

    Where GELU is small your numbers differ. The feed-forward networks are made with the exact `gelu` of chapter 7; the
    tanh approximation, torch's own included, is off by up to 0.0005.
    """
    return {"logits": loud_inside(seeded(gpt(11, 16, 2, 1, 10)))(*some_texts())}


@building.property
def where_eps_decides(gpt: Any) -> Seen:
    """tokens that hardly vary, so that eps decides

    On vectors that hardly vary, where eps decides, your numbers differ. The norms are `nn.LayerNorm(d_model)`, whose
    eps is 1e-5.
    """
    model = build_gpt(gpt)
    with torch.no_grad():
        model.tokens.weight.mul_(3e-3)
    return {"logits": model(*some_texts())}


@building.misconception
class FutureVisible(TinyGPT):
    """Every position sees the whole text: the causal mask is missing.

    In training the model would copy the next word from its own input, and in use there is none to copy.
    """

    def _mask(self, ids: Tensor) -> Tensor | None:
        return None


@building.misconception
class OnlyTheFutureVisible(TinyGPT):
    """Your causal mask is turned: each position sees itself and what comes after.

    Rows are queries, columns are keys: a row allows its own column and those before it.
    """

    def _mask(self, ids: Tensor) -> Tensor | None:
        return causal_mask(ids.shape[1]).to(ids.device).T


@building.misconception
class MaskInTheFirstLayerOnly(TinyGPT):
    """Only the first of your layers has the causal mask.

    From the second on every position sees the future, and what it saw goes on to the logits. Each attention needs it.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x, mask = self._layer(layer, x, mask), None
        return self.out(self.norm(x))


@building.misconception
class EmbeddingsEnlarged(TinyGPT):
    """You multiply the tokens' vectors by the square root of d_model.

    That was for a table of small rows, which shared its numbers with the output. These rows have deviation 1 already
    and are read as they are.
    """

    def _embedded(self, ids: Tensor) -> Tensor:
        return super()._embedded(ids) * math.sqrt(self.tokens.embedding_dim)


@building.misconception
class PositionsAdded(TinyGPT):
    """You add sinusoidal positions to the tokens.

    Here the order comes in where heads turn their queries and keys, in every layer anew. Nothing is added.
    """

    def _embedded(self, ids: Tensor) -> Tensor:
        x = super()._embedded(ids)
        return x + sinusoidal_positions(ids.shape[1], x.shape[-1]).to(x)


@building.misconception
class PostNorm(TinyGPT):
    """You normalise after each residual connection instead of before each sublayer.

    That is the order of 2017. In this model the stream itself is never normalised before the end; each sublayer reads
    a normalised copy.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = layer["norm1"](x + layer["attention"](x, mask))
        return layer["norm2"](x + layer["feed_forward"](x))


@building.misconception
class NothingNormalised(TinyGPT):
    """Your sublayers read the stream as it is: norm1 and norm2 are not used.

    The stream grows from layer to layer, and with it what the sublayers would have to read.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + layer["attention"](x, mask)
        return x + layer["feed_forward"](x)


@building.misconception
class AddedToTheNormalised(TinyGPT):
    """You add to the normalised copy instead of the stream.

    Then the stream is normalised at every step after all, and what earlier layers wrote is rescaled each time.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        y = layer["norm1"](x)
        y = layer["norm2"](y + layer["attention"](y, mask))
        return y + layer["feed_forward"](y)


@building.misconception
class NoResidual(TinyGPT):
    """Your layers hand on what they found and drop what they were given: the residual connections are missing.

    A word that nobody looks at would be forgotten after one layer. Each sublayer adds to the stream.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        return layer["feed_forward"](layer["norm2"](layer["attention"](layer["norm1"](x), mask)))


@building.misconception
class ResidualAroundAttentionMissing(TinyGPT):
    """Attention replaces the stream: the first residual connection is missing.

    A position would know what it fetched and no longer what it is. Add it to the stream.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = layer["attention"](layer["norm1"](x), mask)
        return x + layer["feed_forward"](layer["norm2"](x))


@building.misconception
class SideBySide(TinyGPT):
    """Your feed-forward network reads the stream as it was before attention.

    Some models do that to save time. Here it works on what attention has just added.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        return x + layer["attention"](layer["norm1"](x), mask) + layer["feed_forward"](layer["norm2"](x))


@building.misconception
class FeedForwardFirst(TinyGPT):
    """In your layers the feed-forward network comes before attention.

    The order is part of the model: attention first, then the network that works on what it found.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + layer["feed_forward"](layer["norm2"](x))
        return x + layer["attention"](layer["norm1"](x), mask)


@building.misconception
class NormsExchanged(TinyGPT):
    """You use norm2 before attention and norm1 before the feed-forward network.

    Each norm has learned gains of its own for the sublayer behind it: norm1 for attention, norm2 for the network.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + layer["attention"](layer["norm2"](x), mask)
        return x + layer["feed_forward"](layer["norm1"](x))


@building.misconception
class FeedForwardForgotten(TinyGPT):
    """Your layers attend and do nothing else: the feed-forward network is missing.

    Attention fetches and mixes. What is made of it at each position is the network's work.
    """

    def _layer(self, layer: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        return x + layer["attention"](layer["norm1"](x), mask)


@building.misconception
class LastLayerOnly(TinyGPT):
    """Only your last layer has a say: each one starts from the tokens again.

    Each layer takes what the one before has made: the loop has to carry x on.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x = self._embedded(ids)
        return self.out(self.norm(self._layer(self.layers[-1], x, self._mask(ids))))


@building.misconception
class FirstLayerForAll(TinyGPT):
    """You go through the first layer again and again.

    There are n_layers of them, each with weights of its own.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for _ in self.layers:
            x = self._layer(self.layers[0], x, mask)
        return self.out(self.norm(x))


@building.misconception
class LayersFromTheTop(TinyGPT):
    """You go through the layers from the last to the first.

    Weights belong to their place: the second layer reads what the first has written.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in reversed(self.layers):
            x = self._layer(layer, x, mask)
        return self.out(self.norm(x))


@building.misconception
class OutputNotNormalised(TinyGPT):
    """You do not normalise before the output.

    In a pre-norm stack the stream itself has grown through all layers, and the logits would grow with it.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x = self._layer(layer, x, mask)
        return self.out(x)


@building.misconception
class NormalisedAfterEveryLayer(TinyGPT):
    """You apply the last norm after every layer.

    It stands once, before the output; between the layers the stream goes on as it is.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x = self.norm(self._layer(layer, x, mask))
        return self.out(x)


@building.misconception
class OutputTied(TinyGPT):
    """You score with the rows of `tokens`; `out` is not used.

    GPT-2 ties the two. This model does not: with a shared table it did not learn our task, as the chapter measures.
    """

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self._embedded(ids), self._mask(ids)
        for layer in self.layers:
            x = self._layer(layer, x, mask)
        return self.norm(x) @ self.tokens.weight.T


@building.misconception
class ProbabilitiesReturned(TinyGPT):
    """You return probabilities instead of logits.

    The loss takes the softmax itself, and in a stable way; taken twice it flattens everything.
    """

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids).softmax(dim=-1)


@building.misconception
class LogProbabilitiesReturned(TinyGPT):
    """You return log-probabilities instead of logits.

    They differ by one number for each position, and the loss finds that number itself. Return the plain scores.
    """

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids).log_softmax(dim=-1)


@building.misconception
class LastPositionOnly(TinyGPT):
    """You return the logits of the last position alone.

    That is enough to write the next word. In training all positions are asked at once.
    """

    def forward(self, ids: Tensor) -> Tensor:
        return super().forward(ids)[:, -1]


# next_token_loss ------------------------------------------------------------------------------------------------------

asking = Exercise(
    next_token_loss,
    section="What it is asked",
    minutes=15,
    difficulty=2,
    why="One line of shifting decides whether a model learns a language or learns to copy.",
    hints=[
        "Write a text of four tokens down. Which three does the model read, and which three is it asked for?",
        "The logits for the token at t come from position t - 1. So which tokens of a row are never targets?",
        "A target counts if its position is below the length of its text. Padding may be any id: look at lengths, "
        "not at ids.",
        "All targets that count, of the whole batch, go into one mean. Choose them first, then average.",
    ],
)


class Reader(nn.Module):
    """A stand-in for a model: what it says depends on all that it has read. It keeps what it was asked."""

    def __init__(self, vocab: int, longest: int = 64) -> None:
        super().__init__()
        self.words = nn.Parameter(torch.zeros(vocab, vocab))
        self.places = nn.Parameter(torch.zeros(longest, vocab))
        self.asked: list[Tensor] = []

    def forward(self, ids: Tensor) -> Tensor:
        self.asked.append(ids.detach().clone())
        read = self.words[ids].cumsum(dim=1) / (1 + torch.arange(ids.shape[1], device=ids.device))[:, None].sqrt()
        return (3 * read.to(self.words.dtype) + self.places[: ids.shape[1]]) * 1.5


def reader(vocab: int) -> Reader:
    return seeded(Reader(vocab))


def padded(batch: int, seq: int, vocab: int, seed: str) -> Tensor:
    return integers(0, vocab, batch, seq, seed=f"{seed}: ids")


def three_texts_of_lengths() -> tuple[Tensor, Tensor]:
    return padded(3, 7, 5, "three"), torch.tensor(distinct(2, 7, 3, seed="three lengths"))


@asking.probe
def three_lengths(next_token_loss: Any) -> Seen:
    """three texts of different lengths, vocabulary 5"""
    return {"loss": next_token_loss(reader(5), *three_texts_of_lengths())}


@asking.probe
def whole_texts(next_token_loss: Any) -> Seen:
    """two texts without padding, and a single one of two tokens"""
    vocab, seq = distinct(6, 12, 2, seed="whole sizes")
    two = next_token_loss(reader(vocab), padded(2, seq, vocab, "whole"), torch.tensor([seq, seq]))
    one = next_token_loss(reader(vocab), padded(1, 2, vocab, "short"), torch.tensor([2]))
    return {"loss of two": two, "loss of one": one}


@asking.probe
def empty_ones_among_them(next_token_loss: Any) -> Seen:
    """texts of length 0 and 1 among longer ones"""
    long, longer = distinct(2, 7, 2, seed="long")
    lengths = torch.tensor([0, long, 1, longer, 0])[permutation(5, seed="order")]
    return {"loss": next_token_loss(reader(4), padded(5, 6, 4, "empty"), lengths)}


@asking.probe
def full_of_zeros(next_token_loss: Any) -> Seen:
    """texts in which the id 0 is a frequent word, and another id fills the ends"""
    lengths = torch.tensor(distinct(4, 9, 3, seed="zero lengths"))
    ids = padded(3, 9, 6, "zeros") * booleans(3, 9, seed="zeros", p=0.5)
    filler = whole(1, 6, seed="filler")
    ids = torch.where(torch.arange(9) < lengths[:, None], ids, filler)
    return {"loss": next_token_loss(reader(6), ids, lengths)}


@asking.probe
def an_extreme_model(next_token_loss: Any) -> Seen:
    """a model whose logits are around 10,000 and -10,000"""
    model = reader(5)
    with torch.no_grad():
        model.places.add_(torch.tensor([1e4, -1e4])[torch.arange(64) % 2][:, None])
    loss = next_token_loss(model, *three_texts_of_lengths())
    # a sum of 10,000 and something has three digits left for it in float32: more can't be asked
    return {"loss": torch.as_tensor(loss).to(torch.float16)}


class Asked(nn.Module):
    """The loss of a stand-in as a module, so that its parameters have gradients, dtypes and a device."""

    def __init__(self, next_token_loss: Any, vocab: int = 5) -> None:
        super().__init__()
        self.model = reader(vocab)
        self.loss = next_token_loss

    def forward(self, ids: Tensor, lengths: Tensor) -> Any:
        return self.loss(self.model, ids, lengths)


usual(asking, three_texts_of_lengths, Asked)


@asking.property
def what_the_model_is_asked(next_token_loss: Any) -> Seen:
    """what the model is called with

    The model should be called once, with all tokens but the last of each row: ids (batch, seq - 1). More calls cost
    time, and what it is given beyond that it need not read.
    """
    model = reader(5)
    next_token_loss(model, *three_texts_of_lengths())
    return {"calls": len(model.asked), "ids": torch.cat([ids.flatten() for ids in model.asked])}


def read_and_said(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, the tokens that they are asked for, and the positions of these."""
    return model(ids[:, :-1]), ids[:, 1:], torch.arange(1, ids.shape[1], device=ids.device)


def inside(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    return position < lengths[:, None]


def minus_log_p(logits: Tensor, said: Tensor) -> Tensor:
    return -logits.log_softmax(-1).gather(-1, said[..., None]).squeeze(-1)


def over_tokens(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    return surprise[real].mean()


@asking.assembled
def loss_in_steps(
    model: Model,
    ids: Tensor,
    lengths: Tensor,
    *,
    align: Any = read_and_said,
    keep: Any = inside,
    surprise: Any = minus_log_p,
    average: Any = over_tokens,
) -> Tensor:
    logits, said, position = align(model, ids)
    return average(surprise(logits, said), keep(position, lengths, said), lengths)


@asking.instead_of("align")
def not_shifted(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You ask the model for the token that it has just read.

    It learns to copy, with a loss of nearly 0, and knows nothing. The logits at t - 1 are asked for the token at t.
    """
    return model(ids), ids, torch.arange(ids.shape[1], device=ids.device)


@asking.instead_of("align")
def not_shifted_and_cut(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You leave the last token out of the input and out of the targets, so that the model is asked for what it reads.

    Inputs lack the last token, targets lack the first.
    """
    return model(ids[:, :-1]), ids[:, :-1], torch.arange(ids.shape[1] - 1, device=ids.device)


@asking.instead_of("align")
def asked_for_the_past(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You shift the wrong way: the model reads a token and is asked for the one before it.

    Inputs lack the last token, targets lack the first.
    """
    return model(ids[:, 1:]), ids[:, :-1], torch.arange(1, ids.shape[1], device=ids.device)


@asking.instead_of("align")
def the_whole_row_read(model: Model, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """You let the model read the last token of each row too, and throw away what it says after it.

    The numbers are the same and the work is not. The model is called with ids (batch, seq - 1).
    """
    return model(ids)[:, :-1], ids[:, 1:], torch.arange(1, ids.shape[1], device=ids.device)


@asking.instead_of("keep")
def padding_counted(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You count padding as if it had been said.

    Its tokens mean nothing, and a model that is good at padding would look good.
    """
    return torch.ones_like(said, dtype=torch.bool)


@asking.instead_of("keep")
def one_of_the_padding(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You count one token too many in each text, the first of its padding.

    Whether a position counts depends on the target, not on the input before it: the target at t counts if t is below
    the length.
    """
    return position <= lengths[:, None]


@asking.instead_of("keep")
def last_token_left_out(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You leave the last token of each text out.

    A text of 3 tokens has two that are asked for, at positions 1 and 2.
    """
    counted = position < lengths[:, None] - 1
    return counted if bool(counted.any()) else position < lengths[:, None]


@asking.instead_of("keep")
def zero_for_padding(position: Tensor, lengths: Tensor, said: Tensor) -> Tensor:
    """You take the id 0 for padding.

    Here 0 may be a word like any other, and padding may be any id. Only the lengths tell where a text ends.
    """
    return said != 0


@asking.instead_of("surprise")
def exponentials_first(logits: Tensor, said: Tensor) -> Tensor:
    """You form the probabilities before you take their logarithm; for large logits nothing finite is left.

    exp(1000) is infinite. `log_softmax` and `cross_entropy` need no such number.
    """
    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)
    return -torch.log(p.gather(-1, said[..., None]).squeeze(-1))


@asking.instead_of("surprise")
def softmax_before_the_loss(logits: Tensor, said: Tensor) -> Tensor:
    """You take a softmax and hand the result to a loss that takes one itself.

    Of probabilities the second softmax makes nearly equal numbers, and the model hardly learns. `cross_entropy` wants
    logits.
    """
    return minus_log_p(logits.softmax(-1), said)


@asking.instead_of("surprise")
def in_bits(logits: Tensor, said: Tensor) -> Tensor:
    """You measure in bits (log2); nats (log) are asked for.

    The floor of this chapter is in nats, and bits are larger by 1/ln 2 = 1.44.
    """
    return minus_log_p(logits, said) / math.log(2)


@asking.instead_of("surprise")
def smoothed_targets(logits: Tensor, said: Tensor) -> Tensor:
    """You smooth the targets: a tenth of the probability is asked for elsewhere.

    Then no model reaches the floor of the language. The plain -log p of the token is asked for.
    """
    return 0.9 * minus_log_p(logits, said) - 0.1 * logits.log_softmax(-1).mean(-1)


@asking.instead_of("surprise")
def sign_forgotten(logits: Tensor, said: Tensor) -> Tensor:
    """Your loss is negative: the minus sign before the logarithm is missing.

    Training would make it smaller, and the text less likely.
    """
    return -minus_log_p(logits, said)


@asking.instead_of("surprise")
def own_uncertainty(logits: Tensor, said: Tensor) -> Tensor:
    """You measure how undecided the model is, not how surprised it is by what was said.

    A model can be sure of itself and wrong. What counts is the probability of the token that really came.
    """
    log_p = logits.log_softmax(-1)
    return -(log_p.exp() * log_p).sum(-1)


@asking.instead_of("average")
def text_by_text(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You average over each text first, and then over the texts.

    Then the tokens of short texts count for more. All tokens count alike.
    """
    counts = real.sum(1)
    return (surprise.masked_fill(~real, 0).sum(1)[counts > 0] / counts[counts > 0]).mean()


@asking.instead_of("average")
def over_all_places(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by all places, padding included.

    Padding is left out of the sum, so it must be left out of the count as well.
    """
    return surprise.masked_fill(~real, 0).sum() / real.numel()


@asking.instead_of("average")
def over_lengths(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide by the number of tokens, not by the number of those that are asked for.

    The first token of a text has nothing before it: n tokens have n - 1 surprises.
    """
    return surprise.masked_fill(~real, 0).sum() / lengths.sum()


@asking.instead_of("average")
def over_the_batch(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You divide the sum by the number of texts.

    Then a long text looks worse than a short one. Divide by the number of tokens that are asked for.
    """
    return surprise.masked_fill(~real, 0).sum() / len(real)


@asking.instead_of("average")
def added_up(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You add the surprises up and do not divide.

    The loss and its gradient would grow with the batch, and a rate that suits one batch would not suit the next.
    """
    return surprise[real].sum()


@asking.instead_of("average")
def as_a_perplexity(surprise: Tensor, real: Tensor, lengths: Tensor) -> Tensor:
    """You return the perplexity, the exponential of the mean.

    It is for people to read. The loss is the mean itself.
    """
    return surprise[real].mean().exp()


# write_story ----------------------------------------------------------------------------------------------------------

writing = Exercise(
    write_story,
    section="Letting it write",
    minutes=20,
    difficulty=2,
    why="The loop by which every language model writes: ask, draw, append, ask again.",
    hints=[
        "A list grows by one id a step. What does the model see of it, and in which shape?",
        "The model answers for every position. Which of its rows is about the token that comes next?",
        "Two reasons to stop: `end` was just written, or enough was. An `end` in the prompt is neither.",
        "At temperature 0 nothing can be divided, and nothing is drawn: it is a case of its own.",
    ],
    equivalents={
        "seen = torch.tensor([[*prompt, *new][-context:]], device=generator.device)  ->  "
        "seen = torch.tensor([[*prompt, *new][-context:]])": "every generator of a check is one of the processor",
        "p = (logits / temperature).softmax(dim=-1)  ->  p = (logits / temperature).softmax(dim=-0)": (
            "the logits of one position have one dimension"
        ),
    },
)


def speaker(name: str, vocab: int, end: int | None = None, patience: int = 10**6, std: float = 2.0) -> Model:
    """A model of a kind: logits that depend on all that it sees; when it has seen `patience` ids it ends."""
    rows = normal(13, vocab, seed=f"speaker {name}", std=std)

    def speak(ids: Tensor) -> Tensor:
        place = torch.arange(1, ids.shape[1] + 1)
        logits = rows[(place * ids + ids).cumsum(dim=1) % 13].clone()  # (1, n, vocab)
        if end is not None:
            logits[..., end] = torch.where(place > patience, 60.0, -60.0)
        return logits

    return speak


def story_task(name: str) -> tuple[int, int, list[int]]:
    """The size of a vocabulary, the id that ends a text, and a prompt."""
    vocab = whole(6, 12, seed=f"vocab {name}")
    end = whole(0, vocab, seed=f"end {name}")
    prompt = integers(0, vocab, whole(3, 7, seed=f"length {name}"), seed=f"prompt {name}")
    return vocab, end, torch.where(prompt == end, (end + 1) % vocab, prompt).tolist()


def ids_of(story: Any) -> list[int]:
    return [int(i) for i in story]


@writing.probe
def drawn_from_the_model(write_story: Any) -> Seen:
    """stories of twelve ids at temperature 1, more context than needed"""
    found: Seen = {}
    for name in "ab":
        vocab, end, prompt = story_task(name)
        found[f"story {name}"] = ids_of(write_story(speaker(name, vocab, end), prompt, end, 12, 30, generator(name)))
    return found


@writing.probe
def hot_and_cold(write_story: Any) -> Seen:
    """the same story at temperatures 0.4 and 2.5, given by name"""
    vocab, end, prompt = story_task("c")
    return {
        f"story at {t}": ids_of(
            write_story(speaker("c", vocab, end), list(prompt), end, 12, 30, generator=generator("c"), temperature=t)
        )
        for t in (0.4, 2.5)
    }


@writing.probe
def without_chance(write_story: Any) -> Seen:
    """temperature 0, and what the generator draws next"""
    vocab, end, prompt = story_task("d")
    g = generator("d")
    story = ids_of(write_story(speaker("d", vocab, end), prompt, end, 9, 30, g, 0.0))
    return {"story": story, "drawn afterwards": torch.rand(2, generator=g)}


@writing.probe
def equally_large(write_story: Any) -> Seen:
    """temperature 0 and logits that are equal"""
    order = permutation(9, seed="order").tolist()
    row = torch.full((9,), -1.0)
    row[order[:4]] = 2.0
    story = write_story(lambda ids: row.repeat(1, ids.shape[1], 1), [1], order[8], 4, 5, generator("equal"), 0.0)
    return {"story": ids_of(story)}


@writing.probe
def little_context(write_story: Any) -> Seen:
    """a model that sees the last three ids, the last one, and as many as the prompt has"""
    vocab, end, prompt = story_task("e")
    found: Seen = {}
    for context in (1, 3, len(prompt)):
        g = generator(f"context {context}")
        found[f"story, context {context}"] = ids_of(
            write_story(speaker("e", vocab, end), list(prompt), end, 10, context, g)
        )
    return found


@writing.probe
def until_the_end(write_story: Any) -> Seen:
    """models that end a text after some ids, and one that ends it at once"""
    vocab, end, prompt = story_task("f")
    late = len(prompt) + whole(2, 6, seed="late")
    return {
        f"story, end after {patience}": ids_of(
            write_story(speaker("f", vocab, end, patience), list(prompt), end, 15, 40, generator("f"))
        )
        for patience in (0, late)
    }


@writing.probe
def how_many(write_story: Any) -> Seen:
    """at most no id, one, and as many as it takes to the end"""
    vocab, end, prompt = story_task("g")
    model = speaker("g", vocab, end, len(prompt) + 2)
    return {f"at most {n}": ids_of(write_story(model, list(prompt), end, n, 40, generator("g"))) for n in (0, 1, 3, 4)}


@writing.probe
def ends_in_the_prompt(write_story: Any) -> Seen:
    """prompts that begin and end with `end`"""
    vocab, end, prompt = story_task("h")
    model = speaker("h", vocab, end)
    prompts = {"begins": [end, *prompt], "ends": [*prompt, end], "alone": [end]}
    return {
        f"story, {words}": ids_of(write_story(model, ids, end, 6, 40, generator("h"))) for words, ids in prompts.items()
    }


@writing.probe
def what_it_asks(write_story: Any) -> Seen:
    """what the model is called with, and what the generator draws afterwards"""
    vocab, end, prompt = story_task("i")
    model, asked = speaker("i", vocab, end), []

    def heard(ids: Tensor) -> Tensor:
        asked.append(ids.clone())
        return model(ids)

    g = generator("i")
    story = ids_of(write_story(heard, list(prompt), end, 6, len(prompt) + 2, g))
    return {
        "shapes": [size for ids in asked for size in ids.shape],
        "ids": torch.cat([ids.flatten() for ids in asked]),
        "story": story,
        "drawn afterwards": torch.rand(2, generator=g),
    }


@writing.probe
def sure_models(write_story: Any) -> Seen:
    """logits of some hundreds, a small temperature, and a vocabulary of one word"""
    vocab, end, prompt = story_task("j")
    loud = speaker("j", vocab, std=300.0)
    return {
        "loud": ids_of(write_story(loud, list(prompt), end, 6, 40, generator("j"))),
        "cold": ids_of(write_story(speaker("k", vocab), list(prompt), end, 6, 40, generator("k"), 0.01)),
        "one word": ids_of(write_story(lambda ids: torch.zeros(1, ids.shape[1], 1), [0], 0, 3, 4, generator("one"))),
    }


@writing.property
def prompt_unchanged(write_story: Any) -> Seen:
    """a prompt that the caller goes on using

    Your code appends to the caller's own list. Begin a new one: `prompt + [next]`, or `list(prompt)` once.
    """
    vocab, end, prompt = story_task("l")
    write_story(speaker("l", vocab, end), prompt, end, 5, 3, generator("l"))
    return {"prompt after the call": prompt}


@writing.property
def a_list_of_numbers(write_story: Any) -> Seen:
    """what a story is made of

    A story is a list of Python ints. `int(…)` or `.item()` makes one of a tensor.
    """
    vocab, end, prompt = story_task("m")
    story = write_story(speaker("m", vocab, end), prompt, end, 4, 9, generator("m"))
    return {"a list": isinstance(story, list), "of ints": all(type(i) is int for i in story)}


@writing.property
def the_model_in_training(write_story: Any) -> Seen:
    """a model whose logits have a graph

    Where the model's logits carry a graph your code fails. Take numbers out by `int(…)` or `.item()`, or write under
    `torch.no_grad()`.
    """
    vocab, end, prompt = story_task("n")
    model = speaker("n", vocab, end)
    weight = torch.ones(()).requires_grad_()
    story = write_story(lambda ids: model(ids) * weight, prompt, end, 5, 9, generator("n"))
    return {"story": ids_of(story)}


def last_ones(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    return [*prompt, *new][-context:]


def of_the_last(logits: Tensor) -> Tensor:
    return logits[0, -1]


def divided(logits: Tensor, temperature: float) -> Tensor:
    return (logits / temperature).softmax(dim=-1)


def at_random(p: Tensor, generator: torch.Generator) -> int:
    return int(torch.multinomial(p, 1, generator=generator))


def the_largest(logits: Tensor, generator: torch.Generator) -> int:
    return int(logits.argmax())


def enough(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    return len(new) >= max_new


def ended(new: list[int], prompt: Sequence[int], end: int) -> bool:
    return bool(new) and new[-1] == end


@writing.assembled
def story_in_steps(
    model: Model,
    prompt: Sequence[int],
    end: int,
    max_new: int,
    context: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    *,
    see: Any = last_ones,
    row: Any = of_the_last,
    weigh: Any = divided,
    draw: Any = at_random,
    without_chance: Any = the_largest,
    full: Any = enough,
    stop: Any = ended,
    answer: Any = lambda prompt, new, end: new,
) -> list[int]:
    new: list[int] = []
    while not full(new, prompt, max_new) and not stop(new, prompt, end):
        with torch.no_grad():
            logits = row(model(torch.tensor([see(prompt, new, context)])))
        if temperature == 0:
            new.append(without_chance(logits, generator))
        else:
            new.append(draw(weigh(logits, temperature), generator))
    return answer(prompt, new, end)


@writing.instead_of("see")
def all_of_it(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the whole text, however long.

    `context` says how many ids it can see. Beyond that, many models have no position to give; the last ones count.
    """
    return [*prompt, *new]


@writing.instead_of("see")
def the_first_ones(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the first `context` ids, and never what it has just written.

    The next token depends on the last ones above all. Cut at the other end.
    """
    return [*prompt, *new][:context]


@writing.instead_of("see")
def the_last_one_only(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the last id alone.

    A model without a memory of its own needs the whole context in every step. (A cache, as in chapter 11, would keep
    it.)
    """
    return [*prompt, *new][-1:]


@writing.instead_of("see")
def prompt_forgotten(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Once it has written something, your model no longer sees the prompt.

    The text is the prompt and all that was written since, and the model sees its last `context` ids.
    """
    return (new or list(prompt))[-context:]


@writing.instead_of("see")
def prompt_alone(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees the prompt again and again, and never what it has written.

    What was drawn has to be appended before the next question.
    """
    return list(prompt)[-context:]


@writing.instead_of("see")
def prompt_cut_once(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """You cut the prompt to `context` ids, but what is written makes the text longer again.

    The cut belongs into the loop, before each question.
    """
    return [*list(prompt)[-context:], *new]


@writing.instead_of("see")
def room_for_one_more(prompt: Sequence[int], new: list[int], context: int) -> list[int]:
    """Your model sees one id less than `context` allows.

    The token to come needs no room of its own: the model sees the last `context` ids.
    """
    return [*prompt, *new][-max(context - 1, 1) :]


@writing.instead_of("row")
def first_position(logits: Tensor) -> Tensor:
    """You take the logits of the first position.

    They are about the second token. What comes next is said at the last position.
    """
    return logits[0, 0]


@writing.instead_of("row")
def averaged_positions(logits: Tensor) -> Tensor:
    """You average the logits over the positions.

    Each position speaks about the token behind it. Only the last one speaks about what comes next.
    """
    return logits[0].mean(dim=0)


@writing.instead_of("weigh")
def temperature_ignored(logits: Tensor, temperature: float) -> Tensor:
    """Your temperature changes nothing.

    Probabilities that are all divided by one number are drawn as before. Divide the logits, before the softmax.
    """
    return logits.softmax(dim=-1)


@writing.instead_of("weigh")
def temperature_upside_down(logits: Tensor, temperature: float) -> Tensor:
    """You multiply the logits by the temperature: a high one makes the model sure, a low one wild.

    Divided by a large number, logits come close to each other, and anything may be drawn. That is what hot means.
    """
    return (logits * temperature).softmax(dim=-1)


@writing.instead_of("weigh")
def overflowing(logits: Tensor, temperature: float) -> Tensor:
    """You take the exponentials of the logits as they are; for large ones nothing finite is left.

    exp(300) is infinite in float32. softmax takes the largest off first.
    """
    powers = torch.exp(logits / temperature)
    return powers / powers.sum()


@writing.instead_of("draw")
def never_by_chance(p: Tensor, generator: torch.Generator) -> int:
    """You always take the likeliest token, whatever the temperature.

    That is temperature 0. Above it the token is drawn, in proportion to p.
    """
    return int(p.argmax())


@writing.instead_of("draw")
def dice_of_its_own(p: Tensor, generator: torch.Generator) -> int:
    """You draw from a generator of your own.

    The caller's generator makes a story repeatable. Hand it to `torch.multinomial`.
    """
    return int(torch.multinomial(p, 1, generator=torch.Generator().manual_seed(0)))


@writing.instead_of("draw")
def by_cumulative_sums(p: Tensor, generator: torch.Generator) -> int:
    """You draw by `torch.rand` and cumulative sums: the right probabilities, and another stream of random numbers.

    The exact call is part of what is asked, so that the same generator gives everybody the same story.
    """
    at = torch.rand((), generator=generator)
    return min(int(torch.searchsorted(p.cumsum(0), at)), len(p) - 1)


@writing.instead_of("without_chance")
def last_of_equals(logits: Tensor, generator: torch.Generator) -> int:
    """Of equal logits you take the one with the largest id.

    At temperature 0 the smallest id of the largest ones is taken, as `argmax` does.
    """
    return len(logits) - 1 - int(logits.flip(0).argmax())


@writing.instead_of("without_chance")
def drawn_in_vain(logits: Tensor, generator: torch.Generator) -> int:
    """At temperature 0 you draw as well, and throw the draw away.

    The generator then stands elsewhere afterwards. Where nothing is left to chance, nothing is drawn.
    """
    torch.multinomial(logits.softmax(dim=-1), 1, generator=generator)
    return int(logits.argmax())


@writing.instead_of("without_chance")
def zero_taken_for_one(logits: Tensor, generator: torch.Generator) -> int:
    """At temperature 0 you draw as at temperature 1.

    0 is the limit of ever colder draws: the token with the largest logit, always.
    """
    return int(torch.multinomial(logits.softmax(dim=-1), 1, generator=generator))


@writing.instead_of("full")
def prompt_counted(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    """Your limit counts the prompt.

    `max_new` is the number of new tokens, however long the prompt is.
    """
    return len(prompt) + len(new) >= max_new


@writing.instead_of("full")
def one_too_many(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    """You write one token more than `max_new` allows.

    Ask whether there is room before you draw, not after.
    """
    return len(new) > max_new


@writing.instead_of("full")
def at_least_one(new: list[int], prompt: Sequence[int], max_new: int) -> bool:
    """You write one token even if `max_new` is 0.

    Ask whether there is room before the first draw as well.
    """
    return len(new) >= max(max_new, 1)


@writing.instead_of("stop")
def never_stops(new: list[int], prompt: Sequence[int], end: int) -> bool:
    """Your story goes on after `end`.

    `end` says that the text is over; what comes behind it belongs to another one.
    """
    return False


@writing.instead_of("stop")
def stopped_by_the_prompt(new: list[int], prompt: Sequence[int], end: int) -> bool:
    """An `end` in the prompt ends your story before it begins.

    Our texts begin with `end`: it stands between two of them. Only an `end` that was written counts.
    """
    return end in prompt or end in new


@writing.instead_of("stop")
def stopped_by_the_last_of_all(new: list[int], prompt: Sequence[int], end: int) -> bool:
    """A prompt that closes with `end` ends your story before it begins.

    Our texts begin with `end`: it stands between two of them. Only an `end` that was written counts.
    """
    return [*prompt, *new][-1] == end


@writing.instead_of("answer")
def prompt_returned_too(prompt: Sequence[int], new: list[int], end: int) -> list[int]:
    """You return the prompt as well.

    Whoever asks has it already. Only the new ids are asked for.
    """
    return [*prompt, *new]


@writing.instead_of("answer")
def end_left_out(prompt: Sequence[int], new: list[int], end: int) -> list[int]:
    """You leave `end` out of the story.

    Whether a story came to its end or ran out of room can be told only if `end` stays.
    """
    return new[:-1] if new and new[-1] == end else new
