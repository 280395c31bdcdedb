"""The exercise `RotaryAttention`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import booleans, distinct, normal, seeded, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, if_it_runs
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.capstone import RotaryAttention
from qkv.model.heads import merge_heads, split_heads
from qkv.model.masks import causal_mask
from qkv.model.positions import rotate

exercise = Exercise(
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


@exercise.probe
def two_heads(rotary: Any) -> Seen:
    """two sequences of five vectors, width 12, two heads, no mask"""
    return {"output": attention_of(rotary, 12, 2)(normal(2, 5, 12, seed="x", std=1.5))}


@exercise.probe
def one_head(rotary: Any) -> Seen:
    """one head, which has the whole width"""
    return attended(rotary, (3, 4, 8), 1)


@exercise.probe
def heads_of_one_pair(rotary: Any) -> Seen:
    """three heads of one pair of columns each"""
    return attended(rotary, (2, 5, 6), 3)


@exercise.probe
def as_many_heads_as_vectors(rotary: Any) -> Seen:
    """four vectors, four heads, under a causal mask (seq, seq) given by name"""
    x = normal(3, 4, 16, seed="x", std=1.5)
    return {"output": attention_of(rotary, 16, 4)(x, mask=torch.ones(4, 4).tril().bool())}


@exercise.probe
def far_apart(rotary: Any) -> Seen:
    """sequences of some fifty vectors, so that quick pairs turn several times"""
    return attended(rotary, (2, whole(40, 60, seed="long"), 16), 2)


@exercise.probe
def a_mask_for_each_sequence(rotary: Any) -> Seen:
    """a mask (batch, 1, seq) that hides the ends; two sequences, two heads"""
    lengths = torch.tensor(distinct(2, 6, 2, seed="lengths"))
    return attended(rotary, (2, 6, 8), 2, torch.arange(6) < lengths[:, None, None])


@exercise.probe
def a_mask_for_each_query(rotary: Any) -> Seen:
    """a mask (batch, seq, seq) that differs for every query; three sequences, three heads"""
    mask = booleans(3, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False  # a row that allows nothing is undefined, also for the reversed mask
    return attended(rotary, (3, 5, 12), 3, mask)


@exercise.probe
def more_heads_than_sequences(rotary: Any) -> Seen:
    """a mask (batch, seq, seq) that differs for every query; two sequences, four heads"""
    mask = booleans(2, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False
    mask[1, :, 1:3] = ~mask[0, :, 1:3]  # so that no mask is like the other
    return if_it_runs(lambda: attended(rotary, (2, 5, 16), 4, mask))


@exercise.probe
def loud_vectors(rotary: Any) -> Seen:
    """scores of some hundreds, under a mask"""
    mask = torch.ones(6, 6).tril().bool()
    return {"output": attention_of(rotary, 12, 2)(normal(2, 6, 12, seed="loud", std=15.0), mask)}


@exercise.probe
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


usual(exercise, stream_and_mask, build_attention)


@exercise.property
def masks_of_every_shape(rotary: Any) -> Seen:
    """masks (batch, seq, seq) in which some sizes are 1, or the batch is missing

    Some mask that broadcasts to (batch, seq, seq) is not understood. Sizes of 1 are stretched, and a missing dimension
    is the one in front: torch's own operations do both by themselves.
    """
    x, full = stream_and_mask()
    masks = [full, full[:1], full[:, :1], full[:1, :1], full[0], full[0, :1], torch.ones_like(full)]
    return {f"output, mask {i}: {tuple(m.shape)}": build_attention(rotary)(x, m) for i, m in enumerate(masks)}


@exercise.property
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


@exercise.misconception
class NotTurned(RotaryAttention):
    """The order of the vectors makes no difference to your scores.

    Queries and keys are not turned, or all of a head are turned alike, which cancels: `rotate` counts along the last
    dimension but one, and in (batch, seq, head, d_head) these are the heads. It is the place in the text that counts.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return x


@exercise.misconception
class ValuesTurned(RotaryAttention):
    """You turn the values as well.

    Only what meets in a score needs a position. Turned values are added up at different angles, and what is fetched
    would depend on where it stood.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q, k, turned_by(v, 1), mask)


@exercise.misconception
class OnlyQueriesTurned(RotaryAttention):
    """You turn the queries and not the keys, so a score depends on where the query stands and not on the distance.

    Turned both, the two angles meet in the dot product and only their difference is left.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q, turned_by(k, -1), v, mask)


@exercise.misconception
class OnlyKeysTurned(RotaryAttention):
    """You turn the keys and not the queries, so a score depends on where the key stands and not on the distance.

    Turned both, the two angles meet in the dot product and only their difference is left.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(turned_by(q, -1), k, v, mask)


@exercise.misconception
class TurnedAgainstEachOther(RotaryAttention):
    """You turn the keys the other way round, so a score depends on the sum of the two positions.

    Both turn the same way; it is the dot product that takes the difference.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q, turned_by(k, -2), v, mask)


@exercise.misconception
class TurnedTwice(RotaryAttention):
    """You turn queries and keys twice, so every distance counts double.

    One turn is enough: position times frequency. Perhaps a helper of yours turns them already.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return turned_by(x, 2)


@exercise.misconception
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


@exercise.misconception
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


@exercise.misconception
class BackwardsInTime(RotaryAttention):
    """You turn the wrong way: by minus the position.

    Scores then belong to the mirrored distance. Weights that were trained elsewhere count on the direction, and so
    does the grader.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return turned_by(x, -1)


@exercise.misconception
class HalvesForPairs(RotaryAttention):
    """You pair column i with column i + d_head/2; in this course neighbours (2i, 2i+1) are a pair.

    Both exist: the paper and Meta's own code for Llama turn neighbours, GPT-NeoX and Llama in Hugging Face's library
    turn halves, with columns exchanged beforehand. Trained by one and run by the other as they are, weights are
    worthless.
    """

    def _turn(self, x: Tensor) -> Tensor:
        neighbours = x.unflatten(-1, (2, -1)).transpose(-2, -1).flatten(-2)
        return super()._turn(neighbours).unflatten(-1, (-1, 2)).transpose(-2, -1).flatten(-2)


@exercise.misconception
class FrequenciesOfTheWholeWidth(RotaryAttention):
    """Your frequencies are base^(-2i/d_model) although a head has only d_head columns.

    They fall too slowly then, and no pair of a head is slow enough to tell far distances apart.
    """

    def _turn(self, x: Tensor) -> Tensor:
        positions = torch.arange(x.shape[-2], device=x.device)
        return rotate(x, positions, base=10000.0 ** (1 / self.n_heads))


@exercise.misconception
class OneFrequency(RotaryAttention):
    """All your pairs turn equally fast.

    Then distances 0, 44 and 88 look nearly alike, since 44 is seven whole turns. The pairs are clocks of many speeds.
    """

    def _turn(self, x: Tensor) -> Tensor:
        return rotate(x, torch.arange(x.shape[-2], device=x.device), base=1.0)


@exercise.misconception
class ScaledByTheModelWidth(RotaryAttention):
    """You divide the scores by the square root of d_model instead of d_head.

    A head's dot product has only d_head terms, and its spread grows with those.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q / math.sqrt(self.n_heads), k, v, mask)


@exercise.misconception
class NotScaled(RotaryAttention):
    """Your scores are not divided by the square root of d_head.

    Turning changes no length: the spread of the scores still grows with the width, and the softmax saturates.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q * math.sqrt(q.shape[-1]), k, v, mask)


@exercise.misconception
class SoftmaxOverQueries(RotaryAttention):
    """Your softmax runs over the queries instead of the keys.

    Each query distributes its own attention: a row of weights, over the keys, should sum to 1.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return (scores if mask is None else scores.masked_fill(~mask, -1e4)).softmax(dim=-2) @ v


@exercise.misconception
class FutureHidden(RotaryAttention):
    """You hide later keys from every query, asked or not.

    Here the caller says what is hidden, and without a mask nothing is. TinyGPT brings the causal mask.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        past = causal_mask(q.shape[-2]).to(q.device)
        return super()._attend(q, k, v, past if mask is None else past & mask)


@exercise.misconception
class MaskIgnored(RotaryAttention):
    """You never use the mask.

    Without it a token sees its own future, and a GPT that can look ahead learns to copy.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None


@exercise.misconception
class MaskReversed(RotaryAttention):
    """You hide what the mask allows and show what it hides.

    In this course True means "may attend". nn.MultiheadAttention has it the other way round.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(None if mask is None else ~mask)


@exercise.misconception
class MaskMeetsTheHeads(RotaryAttention):
    """You pass a mask (batch, seq, seq) on as it is, and its batch dimension meets the heads.

    Broadcasting aligns from the right: against (batch, head, seq, seq) the mask of sequence 0 is applied to head 0 of
    every sequence. Where the two counts differ it fails, where they are equal it goes wrong silently.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return mask


@exercise.misconception
class MaskRowsMeetTheHeads(RotaryAttention):
    """You put the heads' dimension second in every mask: the rows of a mask (seq, seq) then meet the heads.

    A mask (seq, seq) becomes (seq, 1, seq), and broadcasting aligns from the right. Count the place from the right as
    well.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None if mask is None else mask.unsqueeze(1)


@exercise.misconception
class OneWideHead(RotaryAttention):
    """You attend with one head of the full width; n_heads changes nothing.

    One head has one set of weights for each query, hence one average. Cut queries, keys and values into heads first.
    """

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return split_heads(self.q_proj(x), 1), split_heads(self.k_proj(x), 1), split_heads(self.v_proj(x), 1)


@exercise.misconception
class OneProjectionForAll(RotaryAttention):
    """You use q_proj for queries, keys and values alike.

    Asking, being found and answering are three roles, and each has its own projection.
    """

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q = split_heads(self.q_proj(x), self.n_heads)
        return q, q, q


@exercise.misconception
class NoOutputProjection(RotaryAttention):
    """You return the merged heads without the output projection.

    Then the heads never meet: each owns its columns of the result. out_proj mixes what they found.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self._project(x)
        return merge_heads(self._attend(self._turn(q), self._turn(k), v, self._for_every_head(mask)))


@exercise.misconception
class ResidualAdded(RotaryAttention):
    """You add the input to the output.

    The residual connection goes around this layer: TinyGPT adds it. The layer itself returns what the heads found.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return x + super().forward(x, mask)


@exercise.misconception
class WeightsReturnedToo(RotaryAttention):
    """You return two things, as torch's own layer does: the output alone is asked for.

    TinyGPT adds this output to its stream, and a tuple cannot be added.
    """

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(x, mask), None


squeezes(exercise)
