"""The exercise `MultiHeadAttention`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import booleans, normal, seeded
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, if_it_runs, one_of_each
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.exercises.heads.merge_heads import joined_without_turning, viewed_after_the_turn
from qkv.exercises.heads.split_heads import every_nth_column, reshaped_in_one_go
from qkv.model.heads import MultiHeadAttention, merge_heads, split_heads
from qkv.model.lookup import similarity_scores, softmax

exercise = Exercise(
    MultiHeadAttention,
    section="The whole layer",
    minutes=30,
    difficulty=3,
    why="The layer that all later chapters build on: encoder, decoder and cross-attention use it unchanged.",
    hints=[
        "Four lines are enough: project, split, attend, mix. You have built the parts of the middle two.",
        "Which of the three inputs goes through which projection? query, key and value may all be different tensors.",
        "scaled_dot_product_attention takes any leading dimensions, (batch, head) too. Which width does it then "
        "divide by?",
        "A mask (batch, query, key) has no place for heads yet. Where should a dimension of size 1 go, so that it "
        "also works for a mask (query, key)?",
    ],
    forbid=[FUSED_ATTENTION, MULTIHEAD],
    equivalents={
        "return torch.atleast_2d(mask).unsqueeze(-3)  ->  return mask.unsqueeze(-3)": (
            "the same for every mask that has a query dimension"
        ),
    },
)


def layer(cls: Any, d_model: int, n_heads: int) -> nn.Module:
    return seeded(cls(d_model, n_heads))


def attended(cls: Any, shape: tuple[int, int, int], n_heads: int, mask: Tensor | None = None) -> Seen:
    """Attention of three different sequences of equal length."""
    query, key, value = (normal(*shape, seed=name, std=1.5) for name in ("query", "key", "value"))
    output = layer(cls, shape[-1], n_heads)(query, key, value, mask)
    return {"output": output}


def questions_and_answers() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Three queries over five keys, and a mask that hides some keys of each of the two sequences."""
    query, key, value = normal(2, 3, 28, seed="query"), normal(2, 5, 28, seed="key"), normal(2, 5, 28, seed="value")
    mask = torch.tensor([[[True, True, False, True, False]], [[True, False, True, True, True]]])  # (batch, 1, key)
    return query, key, value, mask


def four_heads(cls: Any) -> nn.Module:
    return layer(cls, 28, 4)


@exercise.probe
def over_itself(cls: Any) -> Seen:
    """self-attention: three sequences of five tokens, width 12, two heads"""
    x = normal(3, 5, 12, seed="x", std=1.5)
    return {"output": layer(cls, 12, 2)(x, x, x)}


@exercise.probe
def over_another_sequence(cls: Any) -> Seen:
    """four queries over seven keys with values of their own, width 15, three heads"""
    query, key, value = normal(2, 4, 15, seed="query"), normal(2, 7, 15, seed="key"), normal(2, 7, 15, seed="value")
    return {"output": layer(cls, 15, 3)(query, key, value)}


@exercise.probe
def by_names(cls: Any) -> Seen:
    """arguments given by name, a single query over six keys"""
    query, key, value = normal(3, 1, 10, seed="query"), normal(3, 6, 10, seed="key"), normal(3, 6, 10, seed="value")
    return {"output": layer(cls, 10, 5)(value=value, key=key, query=query, mask=None)}


@exercise.probe
def in_one_head(cls: Any) -> Seen:
    """one head, which has the whole width"""
    return attended(cls, (2, 3, 7), 1)


@exercise.probe
def with_heads_of_one_column(cls: Any) -> Seen:
    """six heads of one column each"""
    return attended(cls, (2, 3, 6), 6)


@exercise.probe
def with_one_mask_for_all(cls: Any) -> Seen:
    """a mask (query, key) for the whole batch, each token seeing itself and the one before; four tokens, four heads"""
    mask = torch.ones(4, 4).tril().triu(-1).bool()
    return attended(cls, (3, 4, 12), 4, mask)


@exercise.probe
def with_a_mask_for_each_sequence(cls: Any) -> Seen:
    """a mask (batch, 1, key) that hides the last tokens of each sequence; two sequences, two heads"""
    mask = torch.tensor([[[True, True, True, False, False]], [[True, True, True, True, False]]])
    return attended(cls, (2, 5, 8), 2, mask)


@exercise.probe
def with_a_mask_for_each_query(cls: Any) -> Seen:
    """a mask (batch, query, key) that differs for every query; three sequences, three heads"""
    mask = booleans(3, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False  # a row that allows nothing is undefined, here and for the reversed mask
    return attended(cls, (3, 5, 12), 3, mask)


@exercise.probe
def with_more_heads_than_sequences(cls: Any) -> Seen:
    """a mask (batch, query, key) that differs for every query; two sequences, four heads"""
    mask = booleans(2, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False
    mask[1, :, 1:3] = ~mask[0, :, 1:3]  # so that no mask is like the other
    return if_it_runs(lambda: attended(cls, (2, 5, 12), 4, mask))


@exercise.probe
def with_sizes_of_one(cls: Any) -> Seen:
    """a batch of one, one query, one key, each in turn, and d_model = 1"""
    found = {}
    for words, (batch, query, key) in one_of_each(sequence=2, query=3, key=5):
        x, y, z = (
            normal(batch, query, 12, seed="query"),
            normal(batch, key, 12, seed="key"),
            normal(batch, key, 12, seed="z"),
        )
        found[f"output with {words}"] = layer(cls, 12, 3)(x, y, z)
    found["output with one column"] = attended(cls, (2, 3, 1), 1)["output"]
    return found


@exercise.probe
def of_loud_tokens(cls: Any) -> Seen:
    """float64 scores around 2,000 and around -2,000, and a hidden key that is louder still"""
    loud = seeded(cls(8, 2), torch.float64)
    with (
        torch.no_grad()
    ):  # queries and keys are the inputs themselves: eighths, so that all scores are exact in float32 too
        for projection in (loud.q_proj, loud.k_proj):
            projection.weight.copy_(torch.eye(8))
            projection.bias.zero_()
    query, key, value = (
        (8 * normal(2, 5, 8, seed=name, dtype=torch.float64)).round() / 8 for name in ("query", "key", "value")
    )
    for first in (0, 4):  # the first column of each head
        query[..., first] = torch.tensor([64.0, -64.0, 0.0, 64.0, -64.0])
        key[..., first] = torch.tensor([128.0, 64.0, 64.0, 64.0, 64.0])
    mask = (torch.arange(5)[:, None] + 2 * torch.arange(5)) % 3 != 0  # hides key 0 from queries 0 and 3
    mask = mask.repeat(2, 1, 1)
    return {"output": loud(query, key, value, mask).double()}  # whether float64 comes back is asked elsewhere


def of_one_length() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    mask = booleans(2, 5, 5, seed="mask")
    mask[..., 0] = True
    return normal(2, 5, 28, seed="query"), normal(2, 5, 28, seed="key"), normal(2, 5, 28, seed="value"), mask


usual(exercise, questions_and_answers, four_heads, alike=of_one_length)


@exercise.property
def with_a_mask_that_hides_nothing(cls: Any) -> Seen:
    """masks that are True everywhere, of several shapes

    Under a mask that is True everywhere the result should be that without a mask.
    """
    query, key, value, _ = questions_and_answers()
    shapes = [(2, 3, 5), (1, 1, 5), (3, 5), (3, 1), (2, 3, 1), (2, 1, 1)]
    return {
        f"output under {shape}": four_heads(cls)(query, key, value, torch.ones(shape, dtype=torch.bool))
        for shape in shapes
    }


@exercise.property
def with_masks_of_every_shape(cls: Any) -> Seen:
    """masks (batch, query, key) in which some sizes are 1, or the batch is missing

    Some mask that broadcasts to (batch, query, key) is not understood. Sizes of 1 are stretched, and a missing
    dimension is the one in front: torch's own operations do both by themselves.
    """
    query, key, value, _ = questions_and_answers()
    full = booleans(2, 3, 5, seed="mask")
    full[..., 0] = True
    masks = [full, full[:1], full[:, :1], full[:1, :1], full[0], full[0, :1]]
    return {f"output under a mask {tuple(mask.shape)}": four_heads(cls)(query, key, value, mask) for mask in masks}


@exercise.property
def called_again(cls: Any) -> Seen:
    """the same layer, called once more on sequences of other lengths, without a mask

    The first call is right and the second is not: the layer keeps something from one call to the next. What it gives
    should depend on its weights and its arguments alone.
    """
    attention = four_heads(cls)
    attention(*questions_and_answers())
    return {
        "output of the second call": attention(*(normal(3, 4, 28, seed=name) for name in ("query", "key", "value")))
    }


@exercise.misconception
class ScaledByTheModelWidth(MultiHeadAttention):
    """You divide the scores by the square root of d_model instead of d_head.

    A head's dot product has only d_head terms, and its spread grows with those. Divided by more, all weights move
    towards equal, the more so the more heads there are.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q / math.sqrt(self.n_heads), k, v, mask)


@exercise.misconception
class NotScaled(MultiHeadAttention):
    """Your scores are not divided by the square root of d_head.

    What the last chapter found for d_k holds in every head: the spread of the scores grows with the width, and the
    softmax saturates.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q * math.sqrt(q.shape[-1]), k, v, mask)


@exercise.misconception
class ScaledTwice(MultiHeadAttention):
    """You divide the scores by the square root of d_head twice.

    scaled_dot_product_attention divides already. Twice makes the scores so small that every key weighs nearly the same.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q / math.sqrt(q.shape[-1]), k, v, mask)


@exercise.misconception
class SoftmaxOverQueries(MultiHeadAttention):
    """Your softmax runs over the queries instead of the keys.

    Each query distributes its own attention: a row of weights, over the keys, should sum to 1.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return softmax(scores_of(q, k, mask), -2) @ v


@exercise.misconception
class SoftmaxOverHeads(MultiHeadAttention):
    """Your softmax runs over the heads, so the heads compete for each pair of tokens.

    Every head is a lookup of its own, and its weights over the keys should sum to 1 whatever the other heads do.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return softmax(scores_of(q, k, mask), 1) @ v


@exercise.misconception
class WeightsAveraged(MultiHeadAttention):
    """You average the weights over the heads before you use them, so all heads look at the same keys.

    Then there is only one opinion left. Each head should average its values with its own weights.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return softmax(scores_of(q, k, mask), -1).mean(dim=1, keepdim=True) @ v


@exercise.misconception
class MaskedAfterTheSoftmax(MultiHeadAttention):
    """You set weights to 0 after the softmax, so the rows no longer sum to 1.

    The hidden keys have taken their share by then. They should be out before the shares are given.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        weights = softmax(scores_of(q, k, None), -1)
        return (weights if mask is None else weights * mask) @ v


@exercise.misconception
class RenormalisedAfterTheSoftmax(MultiHeadAttention):
    """You set weights to 0 after the softmax and divide by what is left. Sometimes nothing is left.

    If a hidden key is loud enough, it takes all the weight first, and the others are rounded to 0; then 0/0 is NaN. A
    hidden key should not take part at all.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        weights = softmax(scores_of(q, k, None), -1)
        if mask is not None:
            weights = weights * mask / (weights * mask).sum(-1, keepdim=True)
        return weights @ v


@exercise.misconception
class OverflowingSoftmax(MultiHeadAttention):
    """Your weights become NaN when scores are large.

    The exponential of a large score is inf, and inf/inf is NaN. Use the stable softmax of the first chapter, yours or
    torch's.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        powers = scores_of(q, k, mask).exp()
        return powers / powers.sum(-1, keepdim=True) @ v


@exercise.misconception
class TooLargeForFloat16(MultiHeadAttention):
    """Your hidden scores are a number that float16 cannot hold, and torch refuses it there.

    The largest number of float16 is 65,504. -inf exists in every dtype, and so does `torch.finfo(scores.dtype).min`.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = scores_of(q, k, None)
        return softmax(scores if mask is None else scores.masked_fill(~mask, -1e9), -1) @ v


@exercise.misconception
class FutureHidden(MultiHeadAttention):
    """You hide later keys from every query, asked or not.

    That is the causal mask, which chapter 5 builds. Here the caller says what is hidden, and without a mask nothing is.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        past = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        return softmax(scores_of(q, k, past if mask is None else past & mask), -1) @ v


@exercise.misconception
class MaskedToZero(MultiHeadAttention):
    """You set hidden scores to 0, which still gives those keys a weight.

    exp(0) is 1, and that is more than many visible keys get. Which score has the weight 0?
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = scores_of(q, k, None)
        return softmax(scores if mask is None else scores * mask, -1) @ v


@exercise.misconception
class MaskReversed(MultiHeadAttention):
    """You hide what the mask allows and show what it hides.

    In this course True means "may attend", as in torch's fused attention. nn.MultiheadAttention has it the other way
    round.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(None if mask is None else ~mask)


@exercise.misconception
class MaskIgnored(MultiHeadAttention):
    """You never use the mask.

    Without it a token sees padding, and its own future. Give it to every head's attention.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None


@exercise.misconception
class MaskTurned(MultiHeadAttention):
    """You turn the mask: its rows meet the keys and its columns the queries.

    A row of the mask belongs to a query and says which keys it may see, as a row of the scores does.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(None if mask is None else mask.transpose(-2, -1))


@exercise.misconception
class MaskOfTheSequenceMeetsTheHeads(MultiHeadAttention):
    """You pass a mask (batch, query, key) on as it is, and its batch dimension meets the heads.

    Broadcasting aligns from the right: against (batch, head, query, key) the mask of sequence 0 is applied to head 0 of
    every sequence. Where the two counts differ it fails, where they are equal it goes wrong silently.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return mask


@exercise.misconception
class MaskRowsMeetTheHeads(MultiHeadAttention):
    """You put the heads' dimension second in every mask: the rows of a mask (query, key) then meet the heads.

    A mask (query, key) becomes (query, 1, key), and broadcasting aligns from the right. Count the place from the
    right as well.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None if mask is None else mask.unsqueeze(1)


@exercise.misconception
class MaskOfAnotherSequence(MultiHeadAttention):
    """You repeat the masks of the batch as a whole, once for each head, so sequences get masks of others.

    Folded into the batch, the heads of one sequence stand side by side: its mask has to be repeated before the next
    one's begins. `repeat` puts copies of the whole one after another; `repeat_interleave` copies entry by entry.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        if mask is None or mask.dim() < 3 or len(mask) == 1:
            return super()._for_every_head(mask)
        return mask.repeat(self.n_heads, 1, 1).unflatten(0, (-1, self.n_heads))


@exercise.misconception
class MaskOfTheFirst(MultiHeadAttention):
    """You use the first sequence's mask for the whole batch.

    A mask (batch, query, key) has a table for each sequence: what is padding in one is a word in the next.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(mask if mask is None or mask.dim() < 3 else mask[:1])


@exercise.misconception
class SplitInOneGo(MultiHeadAttention):
    """You reshape straight to (batch, head, seq, d_head), so a head's rows come from different tokens.

    The shape is right, but a reshape keeps the order in memory, where all columns of a token stand together. Cut the
    columns first, then move the heads forward.
    """

    def _split(self, x: Tensor) -> Tensor:
        return reshaped_in_one_go(x, self.n_heads)


@exercise.misconception
class EveryNthColumn(MultiHeadAttention):
    """Your heads hold every n-th column instead of a block of neighbours.

    Head h owns the columns h·d_head up to (h+1)·d_head - 1 of each projection. Weights that were trained elsewhere
    count on it.
    """

    def _split(self, x: Tensor) -> Tensor:
        return every_nth_column(x, self.n_heads)


@exercise.misconception
class OneWideHead(MultiHeadAttention):
    """You attend with one head of the full width; n_heads changes nothing.

    One head has one set of weights for each query, hence one average. Cut queries, keys and values into heads first.
    """

    def _split(self, x: Tensor) -> Tensor:
        return split_heads(x, 1)


@exercise.misconception
class MergedWithoutTurning(MultiHeadAttention):
    """You reshape the heads' outputs straight to (batch, query, d_model), so a row mixes different tokens.

    Before heads can be joined, the heads of one token have to stand beside each other.
    """

    def _mix(self, heads: Tensor) -> Tensor:
        return self.out_proj(joined_without_turning(heads))


@exercise.misconception
class ViewedAfterTheTurn(MultiHeadAttention):
    """You turn the heads' outputs as you should and then call `view`, which torch refuses.

    A view only counts the entries differently, in the order in which they lie in memory; turning changed the order by
    index and left memory as it was. The numbers have to be laid out anew first.
    """

    def _mix(self, heads: Tensor) -> Tensor:
        return self.out_proj(viewed_after_the_turn(heads))


@exercise.misconception
class NoOutputProjection(MultiHeadAttention):
    """You return the merged heads without the output projection.

    Then the heads never meet: each owns its columns of the result. out_proj mixes what they found.
    """

    def _mix(self, heads: Tensor) -> Tensor:
        return merge_heads(heads)


@exercise.misconception
class QueryForAll(MultiHeadAttention):
    """You make queries, keys and values all from `query`.

    In self-attention the three are the same and nobody notices. Here the keys and values may come from another
    sequence.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return super()._project(query, query, query)


@exercise.misconception
class ValuesFromTheKeys(MultiHeadAttention):
    """You make the values from `key`; `value` is never used.

    The key says where something is found, the value is what is found there. They may be different tensors.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return super()._project(query, key, key)


@exercise.misconception
class InputsNotProjected(MultiHeadAttention):
    """You split the inputs themselves; q_proj, k_proj and v_proj are not used.

    Then head h can see only its block of the input's columns. The projections let every head look at all of them.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return self._split(query), self._split(key), self._split(value)


@exercise.misconception
class InputCutIntoBlocks(MultiHeadAttention):
    """You cut the input into blocks and project each block alone, so a head sees only d_head of the d_model columns.

    Every head looks at the whole vector: its projection is d_model wide on the input's side. What is cut into blocks
    is the result of the projection.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        blocks = torch.block_diag(*[torch.ones(2 * [len(self.q_proj.weight) // self.n_heads])] * self.n_heads).to(query)
        pairs = (query, self.q_proj), (key, self.k_proj), (value, self.v_proj)
        q, k, v = (self._split(F.linear(x, proj.weight * blocks, proj.bias)) for x, proj in pairs)
        return q, k, v


@exercise.misconception
class OneProjectionForAll(MultiHeadAttention):
    """You use q_proj for queries, keys and values alike.

    Asking, being found and answering are three roles, and each has its own projection.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return self._split(self.q_proj(query)), self._split(self.q_proj(key)), self._split(self.q_proj(value))


@exercise.misconception
class BiasesForgotten(MultiHeadAttention):
    """You multiply by the weights of q_proj, k_proj and v_proj, but leave out their biases.

    A projection is an nn.Linear with a bias. Calling it adds the bias by itself.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        pairs = (query, self.q_proj), (key, self.k_proj), (value, self.v_proj)
        q, k, v = (self._split(F.linear(x, proj.weight)) for x, proj in pairs)
        return q, k, v


@exercise.misconception
class ResidualAdded(MultiHeadAttention):
    """You add the query to the output.

    A residual connection goes around this layer, in a later chapter. The layer itself returns what the heads found.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return query + super().forward(query, key, value, mask)


@exercise.misconception
class ResidualAndNormInside(MultiHeadAttention):
    """You add the query to the output and normalise the sum.

    Some code has both inside this layer. Here they go around it, in later chapters; the layer itself returns what the
    heads found.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return F.layer_norm(query + super().forward(query, key, value, mask), query.shape[-1:])


@exercise.misconception
class WeightsReturnedToo(MultiHeadAttention):
    """You return two things, as torch's own layer does: the output alone is asked for.

    Later layers add this output to their input, and a tuple cannot be added.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(query, key, value, mask), None


def scores_of(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    scores = similarity_scores(q, k) / math.sqrt(q.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


squeezes(exercise)
