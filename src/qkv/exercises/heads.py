"""Chapter 03: splitting and merging heads, multi-head attention, its parameters, how alike heads are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from proctor import Exercise
from proctor.inside.inputs import booleans, distinct, normal, seeded
from proctor.inside.properties import usual
from qkv.exercises.forbidden import FUSED_ATTENTION, MULTIHEAD
from qkv.model.heads import MultiHeadAttention, attention_parameters, head_similarity, merge_heads, split_heads
from qkv.model.lookup import similarity_scores, softmax

Seen = dict[str, Any]


def one_of_each(**sizes: int) -> list[tuple[str, list[int]]]:
    """The same sizes once for each name, with this size being 1, and words for it."""
    return [(f"one {name}", [1 if other == name else size for other, size in sizes.items()]) for name in sizes]


def if_it_runs(look: Callable[[], Seen]) -> Seen:
    """What is seen, or that the code raised: by which exception is an accident of how it is written."""
    try:
        return {**look(), "raises an error": False}
    except NotImplementedError:  # nothing is written yet
        raise
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
        return {"raises an error": True}


split_exercise = Exercise(
    split_heads,
    section="Cutting columns, not tokens",
    minutes=10,
    difficulty=2,
    why="Heads cost nothing extra: they are the same numbers, seen in another shape.",
    hints=[
        "Take one token. Its d_model numbers become n_heads rows of d_head numbers; no other token is touched.",
        "Two steps: first cut the last dimension into (head, d_head), then put the dimensions into the order that is "
        "asked for.",
        "A reshape never moves a number in memory; it only counts differently. Which step moves `head` in front of "
        "`seq`?",
        "Try it on a tensor whose entry says where it stands, such as 10·token + column. What should heads[0, 1] show?",
    ],
)


def sequences() -> tuple[Tensor, int]:
    return normal(2, 6, 12, seed="x"), 3


@split_exercise.probe
def three_heads(split_heads: Any) -> Seen:
    """two sequences of six tokens, width 12, three heads"""
    return {"heads": split_heads(*sequences())}


@split_exercise.probe
def square_heads(split_heads: Any) -> Seen:
    """four heads of width 4 over four tokens, so that a wrong axis still fits"""
    return {"heads": split_heads(normal(3, 4, 16, seed="x"), 4)}


@split_exercise.probe
def a_single_head(split_heads: Any) -> Seen:
    """one head, which gets all columns"""
    return {"heads": split_heads(normal(2, 3, 5, seed="x"), n_heads=1)}


@split_exercise.probe
def heads_of_one_column(split_heads: Any) -> Seen:
    """as many heads as columns"""
    return {"heads": split_heads(normal(2, 10, 5, seed="x"), 5)}


@split_exercise.probe
def with_one_of_each(split_heads: Any) -> Seen:
    """a batch of one, a single token, a single head, heads of one column, each in turn"""
    return {
        f"heads with {words}": split_heads(normal(batch, seq, head * d_head, seed="x"), head)
        for words, (batch, seq, head, d_head) in one_of_each(sequence=2, token=6, head=3, column=4)
    }


usual(split_exercise, sequences)


@split_exercise.property
def turned_in_memory(split_heads: Any) -> Seen:
    """an input that is a turned view of another tensor

    Where the input is a turned view of another tensor, your code raises an error or gives other numbers. What counts is
    where an entry stands by its indices, not in memory: `view` looks at memory, `reshape` copies where it must.
    """
    return {"heads": split_heads(normal(4, 10, 3, seed="x").permute(2, 0, 1), 2)}


@split_exercise.misconception
def reshaped_in_one_go(x: Tensor, n_heads: int) -> Tensor:
    """You reshape straight to (batch, head, seq, d_head), and a head's rows come from different tokens.

    The shape is right, the numbers are not in their places: a reshape keeps the order in memory, where all columns of
    the first token come before the second token. Each token then attends with pieces of its neighbours.
    """
    batch, seq, d_model = x.shape
    return x.reshape(batch, n_heads, seq, d_model // n_heads)


@split_exercise.misconception
def heads_behind_tokens(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (batch, seq, head, d_head): the heads stand behind the tokens.

    The cut is right. But attention multiplies the last two dimensions, so with this order the heads of one token
    would look at each other, instead of the tokens within one head.
    """
    return split_heads(x, n_heads).transpose(1, 2)


@split_exercise.misconception
def every_nth_column(x: Tensor, n_heads: int) -> Tensor:
    """Your head h holds every n-th column, starting at h, instead of a block of neighbours.

    A head is a block: columns h·d_head up to (h+1)·d_head - 1. The layer would still learn with another assignment, but
    weights from elsewhere would no longer fit.
    """
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


@split_exercise.misconception
def heads_before_the_batch(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (head, batch, seq, d_head): the heads stand in front of the batch.

    Stacking chunks does this. Everything later counts on the batch coming first; a mask per sequence would meet the
    heads.
    """
    return split_heads(x, n_heads).transpose(0, 1)


@split_exercise.misconception
def tokens_cut(x: Tensor, n_heads: int) -> Tensor:
    """You cut the sequence into pieces, not the columns: each head gets some of the tokens.

    A head sees every token, through a part of its columns. With the tokens shared out, most pairs could never meet.
    """
    return x.unflatten(1, (n_heads, -1))


@split_exercise.misconception
def count_and_width_exchanged(x: Tensor, n_heads: int) -> Tensor:
    """You make heads of width n_heads; n_heads is how many there are.

    The width follows from the count: d_head = d_model / n_heads.
    """
    return split_heads(x, x.shape[-1] // n_heads)


@split_exercise.misconception
def all_columns_for_everyone(x: Tensor, n_heads: int) -> Tensor:
    """You give each head all d_model columns.

    Then the layer costs n_heads times as much. Here every head gets d_head = d_model / n_heads columns of its own.
    """
    return x.unsqueeze(1).repeat(1, n_heads, 1, 1)


@split_exercise.misconception
def columns_before_tokens(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (batch, head, d_head, seq): tokens and columns have changed places.

    Keys are turned like this inside the product with the queries, and attention does that by itself.
    """
    return split_heads(x, n_heads).transpose(-2, -1)


@split_exercise.misconception
def folded_into_the_batch(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (batch · head, seq, d_head): the heads are folded into the batch.

    Each head is cut out as it should be, and `bmm` wants it so. But four dimensions are asked for, so that a mask for
    each sequence still finds its place.
    """
    return split_heads(x, n_heads).flatten(0, 1)


@split_exercise.misconception
def turned_before_the_cut(x: Tensor, n_heads: int) -> Tensor:
    """You turn tokens and columns first and then reshape, so the rows of a head mix several tokens.

    A reshape counts on in the order in which the dimensions stand. Cut the columns while they are the last dimension,
    and move the heads afterwards.
    """
    batch, seq, d_model = x.shape
    return x.transpose(1, 2).reshape(batch, n_heads, seq, d_model // n_heads)


@split_exercise.misconception
def viewed_after_turning(x: Tensor, n_heads: int) -> Tensor:
    """You call `view` on a tensor that was turned, and torch refuses.

    A view only counts the entries differently, in the order in which they lie in memory; turning changed the order by
    index and left memory as it was. Besides, the columns should be cut before anything is turned.
    """
    batch, seq, d_model = x.shape
    return x.transpose(1, 2).view(batch, n_heads, seq, d_model // n_heads)


@split_exercise.misconception
def first_block_for_everyone(x: Tensor, n_heads: int) -> Tensor:
    """You give every head the same block of columns, the first.

    Head h holds the columns from h·d_head on. With one block for all, the other columns are never looked at.
    """
    d_head = x.shape[-1] // n_heads
    return x[..., :d_head].unsqueeze(1).repeat(1, n_heads, 1, 1)


@split_exercise.misconception
def heads_in_reverse(x: Tensor, n_heads: int) -> Tensor:
    """Your heads are right, but in reverse order.

    Head 0 holds the first block of columns. Any order would learn; weights from elsewhere, and a mask or a figure per
    head, count on this one.
    """
    return split_heads(x, n_heads).flip(1)


merge_exercise = Exercise(
    merge_heads,
    section="And back again",
    minutes=5,
    difficulty=1,
    why="The way back has to undo the split exactly, or heads are mixed up without an error.",
    hints=[
        "Undo the two steps of split_heads, the last one first.",
        "Before the last two dimensions can become one, `head` and `d_head` must stand side by side.",
        "If torch says that `view` is not possible: the numbers have to be laid out anew first. Which function does "
        "that by itself?",
    ],
    equivalents={"return blocks.flatten(-2)  ->  return blocks.flatten(2)": "the same dimension of four"},
)


def head_outputs() -> tuple[Tensor]:
    return (normal(2, 3, 6, 4, seed="heads"),)


@merge_exercise.probe
def of_three_heads(merge_heads: Any) -> Seen:
    """three heads of width 4 over six tokens, in a batch of two"""
    return {"merged": merge_heads(*head_outputs())}


@merge_exercise.probe
def of_square_heads(merge_heads: Any) -> Seen:
    """four heads of width 4 over four tokens, so that a wrong axis still fits"""
    return {"merged": merge_heads(normal(3, 4, 4, 4, seed="heads"))}


@merge_exercise.probe
def of_a_single_head(merge_heads: Any) -> Seen:
    """one head"""
    return {"merged": merge_heads(normal(2, 1, 3, 5, seed="heads"))}


@merge_exercise.probe
def of_heads_of_one_column(merge_heads: Any) -> Seen:
    """five heads of one column each"""
    return {"merged": merge_heads(normal(2, 5, 3, 1, seed="heads"))}


@merge_exercise.probe
def of_one_of_each(merge_heads: Any) -> Seen:
    """a batch of one, a single head, a single token, heads of one column, each in turn"""
    return {
        f"merged with {words}": merge_heads(normal(*shape, seed="heads"))
        for words, shape in one_of_each(sequence=2, head=3, token=6, column=4)
    }


usual(merge_exercise, head_outputs)


@merge_exercise.property
def after_a_split(merge_heads: Any) -> Seen:
    """heads that are views of a sequence of width 15, as splitting leaves them

    Where the heads are views of another tensor, as splitting leaves them, your code raises an error or gives other
    numbers. What counts is where an entry stands by its indices, not in memory: `view` looks at memory, `reshape`
    copies where it must.
    """
    heads = normal(2, 4, 15, seed="x").view(2, 4, 3, 5).transpose(1, 2)
    return {"merged": merge_heads(heads)}


@merge_exercise.misconception
def joined_without_turning(x: Tensor) -> Tensor:
    """You reshape straight to (batch, seq, d_model), so a row mixes different tokens of one head.

    In memory all tokens of the first head come before the second head. The heads have to stand beside their token
    before anything is joined.
    """
    batch, head, seq, d_head = x.shape
    return x.reshape(batch, seq, head * d_head)


@merge_exercise.misconception
def heads_added(x: Tensor) -> Tensor:
    """You add the heads up.

    A sum forgets which head said what, and leaves only d_head columns. Put side by side, nothing is lost.
    """
    return x.sum(dim=1)


@merge_exercise.misconception
def heads_averaged(x: Tensor) -> Tensor:
    """You average the heads.

    The average forgets which head said what; the heads were split to keep just that apart. Put them side by side.
    """
    return x.mean(dim=1)


@merge_exercise.misconception
def columns_shuffled(x: Tensor) -> Tensor:
    """Your columns alternate between the heads: first column of each head, then second column of each.

    The inverse of the split keeps a head's columns together: first all of head 0, then all of head 1.
    """
    return x.permute(0, 2, 3, 1).flatten(-2)


@merge_exercise.misconception
def one_head_after_another(x: Tensor) -> Tensor:
    """You join the heads along the sequence: the result has head · seq rows of width d_head.

    There should be one row for each token, as before the split, and it should hold the columns of all heads.
    """
    return x.flatten(1, 2)


@merge_exercise.misconception
def turned_but_not_joined(x: Tensor) -> Tensor:
    """Your result still has four dimensions, (batch, seq, head, d_head).

    The order is right. What is left is to make one dimension of the last two.
    """
    return x.transpose(1, 2)


@merge_exercise.misconception
def tokens_and_columns_exchanged(x: Tensor) -> Tensor:
    """You exchange tokens and columns: a row of your result belongs to a column, not to a token.

    One row for each token is asked for, with the columns of all heads in it.
    """
    return x.permute(0, 3, 1, 2).flatten(-2)


@merge_exercise.misconception
def viewed_after_the_turn(x: Tensor) -> Tensor:
    """You turn the heads as you should and then call `view`, which torch refuses.

    A view only counts the entries differently, in the order in which they lie in memory; turning changed the order by
    index and left memory as it was. The numbers have to be laid out anew first.
    """
    batch, head, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, head * d_head)


@merge_exercise.misconception
def merged_and_squeezed(x: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one, and a single token, are sizes like any other.
    """
    return merge_heads(x).squeeze()


@merge_exercise.misconception
def first_head_alone(x: Tensor) -> Tensor:
    """You return the first head alone.

    Each head found something of its own. The result holds all of them side by side: d_model columns.
    """
    return x[:, 0]


@merge_exercise.misconception
def last_head_first(x: Tensor) -> Tensor:
    """You join the heads in reverse order.

    Head 0 came from the first columns and goes back there: merging undoes the split.
    """
    return merge_heads(x.flip(1))


@merge_exercise.misconception
def wrong_pair_turned(x: Tensor) -> Tensor:
    """You turn the last two dimensions, tokens and columns, before you join; heads and tokens are the pair.

    What is to become one dimension has to stand side by side at the end: head and d_head.
    """
    batch, head, seq, d_head = x.shape
    return x.transpose(-2, -1).reshape(batch, seq, head * d_head)


multi_head_exercise = Exercise(
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


@multi_head_exercise.probe
def over_itself(cls: Any) -> Seen:
    """self-attention: three sequences of five tokens, width 12, two heads"""
    x = normal(3, 5, 12, seed="x", std=1.5)
    return {"output": layer(cls, 12, 2)(x, x, x)}


@multi_head_exercise.probe
def over_another_sequence(cls: Any) -> Seen:
    """four queries over seven keys with values of their own, width 15, three heads"""
    query, key, value = normal(2, 4, 15, seed="query"), normal(2, 7, 15, seed="key"), normal(2, 7, 15, seed="value")
    return {"output": layer(cls, 15, 3)(query, key, value)}


@multi_head_exercise.probe
def by_names(cls: Any) -> Seen:
    """arguments given by name, a single query over six keys"""
    query, key, value = normal(3, 1, 10, seed="query"), normal(3, 6, 10, seed="key"), normal(3, 6, 10, seed="value")
    return {"output": layer(cls, 10, 5)(value=value, key=key, query=query, mask=None)}


@multi_head_exercise.probe
def in_one_head(cls: Any) -> Seen:
    """one head, which has the whole width"""
    return attended(cls, (2, 3, 7), 1)


@multi_head_exercise.probe
def with_heads_of_one_column(cls: Any) -> Seen:
    """six heads of one column each"""
    return attended(cls, (2, 3, 6), 6)


@multi_head_exercise.probe
def with_one_mask_for_all(cls: Any) -> Seen:
    """a mask (query, key) for the whole batch, each token seeing itself and the one before; four tokens, four heads"""
    mask = torch.ones(4, 4).tril().triu(-1).bool()
    return attended(cls, (3, 4, 12), 4, mask)


@multi_head_exercise.probe
def with_a_mask_for_each_sequence(cls: Any) -> Seen:
    """a mask (batch, 1, key) that hides the last tokens of each sequence; two sequences, two heads"""
    mask = torch.tensor([[[True, True, True, False, False]], [[True, True, True, True, False]]])
    return attended(cls, (2, 5, 8), 2, mask)


@multi_head_exercise.probe
def with_a_mask_for_each_query(cls: Any) -> Seen:
    """a mask (batch, query, key) that differs for every query; three sequences, three heads"""
    mask = booleans(3, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False  # a row that allows nothing is undefined, here and for the reversed mask
    return attended(cls, (3, 5, 12), 3, mask)


@multi_head_exercise.probe
def with_more_heads_than_sequences(cls: Any) -> Seen:
    """a mask (batch, query, key) that differs for every query; two sequences, four heads"""
    mask = booleans(2, 5, 5, seed="mask")
    mask[..., 0], mask[..., 3] = True, False
    mask[1, :, 1:3] = ~mask[0, :, 1:3]  # so that no mask is like the other
    return if_it_runs(lambda: attended(cls, (2, 5, 12), 4, mask))


@multi_head_exercise.probe
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


@multi_head_exercise.probe
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


usual(multi_head_exercise, questions_and_answers, four_heads, alike=of_one_length)


@multi_head_exercise.property
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


@multi_head_exercise.property
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


@multi_head_exercise.property
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


@multi_head_exercise.misconception
class ScaledByTheModelWidth(MultiHeadAttention):
    """You divide the scores by the square root of d_model instead of d_head.

    A head's dot product has only d_head terms, and its spread grows with those. Divided by more, all weights move
    towards equal, the more so the more heads there are.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q / math.sqrt(self.n_heads), k, v, mask)


@multi_head_exercise.misconception
class NotScaled(MultiHeadAttention):
    """Your scores are not divided by the square root of d_head.

    What the last chapter found for d_k holds in every head: the spread of the scores grows with the width, and the
    softmax saturates.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q * math.sqrt(q.shape[-1]), k, v, mask)


@multi_head_exercise.misconception
class ScaledTwice(MultiHeadAttention):
    """You divide the scores by the square root of d_head twice.

    scaled_dot_product_attention divides already. Twice makes the scores so small that every key weighs nearly the same.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return super()._attend(q / math.sqrt(q.shape[-1]), k, v, mask)


@multi_head_exercise.misconception
class SoftmaxOverQueries(MultiHeadAttention):
    """Your softmax runs over the queries instead of the keys.

    Each query distributes its own attention: a row of weights, over the keys, should sum to 1.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return softmax(scores_of(q, k, mask), -2) @ v


@multi_head_exercise.misconception
class SoftmaxOverHeads(MultiHeadAttention):
    """Your softmax runs over the heads, so the heads compete for each pair of tokens.

    Every head is a lookup of its own, and its weights over the keys should sum to 1 whatever the other heads do.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return softmax(scores_of(q, k, mask), 1) @ v


@multi_head_exercise.misconception
class WeightsAveraged(MultiHeadAttention):
    """You average the weights over the heads before you use them, so all heads look at the same keys.

    Then there is only one opinion left. Each head should average its values with its own weights.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return softmax(scores_of(q, k, mask), -1).mean(dim=1, keepdim=True) @ v


@multi_head_exercise.misconception
class MaskedAfterTheSoftmax(MultiHeadAttention):
    """You set weights to 0 after the softmax, so the rows no longer sum to 1.

    The hidden keys have taken their share by then. They should be out before the shares are given.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        weights = softmax(scores_of(q, k, None), -1)
        return (weights if mask is None else weights * mask) @ v


@multi_head_exercise.misconception
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


@multi_head_exercise.misconception
class OverflowingSoftmax(MultiHeadAttention):
    """Your weights become NaN when scores are large.

    The exponential of a large score is inf, and inf/inf is NaN. Use the stable softmax of the first chapter, yours or
    torch's.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        powers = scores_of(q, k, mask).exp()
        return powers / powers.sum(-1, keepdim=True) @ v


@multi_head_exercise.misconception
class TooLargeForFloat16(MultiHeadAttention):
    """Your hidden scores are a number that float16 cannot hold, and torch refuses it there.

    The largest number of float16 is 65,504. -inf exists in every dtype, and so does `torch.finfo(scores.dtype).min`.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = scores_of(q, k, None)
        return softmax(scores if mask is None else scores.masked_fill(~mask, -1e9), -1) @ v


@multi_head_exercise.misconception
class FutureHidden(MultiHeadAttention):
    """You hide later keys from every query, asked or not.

    That is the causal mask, which chapter 5 builds. Here the caller says what is hidden, and without a mask nothing is.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        past = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        return softmax(scores_of(q, k, past if mask is None else past & mask), -1) @ v


@multi_head_exercise.misconception
class MaskedToZero(MultiHeadAttention):
    """You set hidden scores to 0, which still gives those keys a weight.

    exp(0) is 1, and that is more than many visible keys get. Which score has the weight 0?
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        scores = scores_of(q, k, None)
        return softmax(scores if mask is None else scores * mask, -1) @ v


@multi_head_exercise.misconception
class MaskReversed(MultiHeadAttention):
    """You hide what the mask allows and show what it hides.

    In this course True means "may attend", as in torch's fused attention. nn.MultiheadAttention has it the other way
    round.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(None if mask is None else ~mask)


@multi_head_exercise.misconception
class MaskIgnored(MultiHeadAttention):
    """You never use the mask.

    Without it a token sees padding, and its own future. Give it to every head's attention.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None


@multi_head_exercise.misconception
class MaskTurned(MultiHeadAttention):
    """You turn the mask: its rows meet the keys and its columns the queries.

    A row of the mask belongs to a query and says which keys it may see, as a row of the scores does.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(None if mask is None else mask.transpose(-2, -1))


@multi_head_exercise.misconception
class MaskOfTheSequenceMeetsTheHeads(MultiHeadAttention):
    """You pass a mask (batch, query, key) on as it is, and its batch dimension meets the heads.

    Broadcasting aligns from the right: against (batch, head, query, key) the mask of sequence 0 is applied to head 0 of
    every sequence. Where the two counts differ it fails, where they are equal it goes wrong silently.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return mask


@multi_head_exercise.misconception
class MaskRowsMeetTheHeads(MultiHeadAttention):
    """You put the heads' dimension second in every mask: the rows of a mask (query, key) then meet the heads.

    A mask (query, key) becomes (query, 1, key), and broadcasting aligns from the right. Count the place from the
    right as well.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return None if mask is None else mask.unsqueeze(1)


@multi_head_exercise.misconception
class MaskOfAnotherSequence(MultiHeadAttention):
    """You repeat the masks of the batch as a whole, once for each head, so sequences get masks of others.

    Folded into the batch, the heads of one sequence stand side by side: its mask has to be repeated before the next
    one's begins. `repeat` puts copies of the whole behind each other; `repeat_interleave` copies entry by entry.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        if mask is None or mask.dim() < 3 or len(mask) == 1:
            return super()._for_every_head(mask)
        return mask.repeat(self.n_heads, 1, 1).unflatten(0, (-1, self.n_heads))


@multi_head_exercise.misconception
class MaskOfTheFirst(MultiHeadAttention):
    """You use the first sequence's mask for the whole batch.

    A mask (batch, query, key) has a table for each sequence: what is padding in one is a word in the next.
    """

    def _for_every_head(self, mask: Tensor | None) -> Tensor | None:
        return super()._for_every_head(mask if mask is None or mask.dim() < 3 else mask[:1])


@multi_head_exercise.misconception
class SplitInOneGo(MultiHeadAttention):
    """You reshape straight to (batch, head, seq, d_head), so a head's rows come from different tokens.

    The shape is right, but a reshape keeps the order in memory, where all columns of a token stand together. Cut the
    columns first, then move the heads forward.
    """

    def _split(self, x: Tensor) -> Tensor:
        return reshaped_in_one_go(x, self.n_heads)


@multi_head_exercise.misconception
class EveryNthColumn(MultiHeadAttention):
    """Your heads hold every n-th column instead of a block of neighbours.

    Head h owns the columns h·d_head up to (h+1)·d_head - 1 of each projection. Weights that were trained elsewhere
    count on it.
    """

    def _split(self, x: Tensor) -> Tensor:
        return every_nth_column(x, self.n_heads)


@multi_head_exercise.misconception
class OneWideHead(MultiHeadAttention):
    """You attend with one head of the full width; n_heads changes nothing.

    One head has one set of weights for each query, hence one average. Cut queries, keys and values into heads first.
    """

    def _split(self, x: Tensor) -> Tensor:
        return split_heads(x, 1)


@multi_head_exercise.misconception
class MergedWithoutTurning(MultiHeadAttention):
    """You reshape the heads' outputs straight to (batch, query, d_model), so a row mixes different tokens.

    Before heads can be joined, the heads of one token have to stand beside each other.
    """

    def _mix(self, heads: Tensor) -> Tensor:
        return self.out_proj(joined_without_turning(heads))


@multi_head_exercise.misconception
class ViewedAfterTheTurn(MultiHeadAttention):
    """You turn the heads' outputs as you should and then call `view`, which torch refuses.

    A view only counts the entries differently, in the order in which they lie in memory; turning changed the order by
    index and left memory as it was. The numbers have to be laid out anew first.
    """

    def _mix(self, heads: Tensor) -> Tensor:
        return self.out_proj(viewed_after_the_turn(heads))


@multi_head_exercise.misconception
class NoOutputProjection(MultiHeadAttention):
    """You return the merged heads without the output projection.

    Then the heads never meet: each owns its columns of the result. out_proj mixes what they found.
    """

    def _mix(self, heads: Tensor) -> Tensor:
        return merge_heads(heads)


@multi_head_exercise.misconception
class QueryForAll(MultiHeadAttention):
    """You make queries, keys and values all from `query`.

    In self-attention the three are the same and nobody notices. Here the keys and values may come from another
    sequence.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return super()._project(query, query, query)


@multi_head_exercise.misconception
class ValuesFromTheKeys(MultiHeadAttention):
    """You make the values from `key`; `value` is never used.

    The key says where something is found, the value is what is found there. They may be different tensors.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return super()._project(query, key, key)


@multi_head_exercise.misconception
class InputsNotProjected(MultiHeadAttention):
    """You split the inputs themselves; q_proj, k_proj and v_proj are not used.

    Then head h can see only its block of the input's columns. The projections let every head look at all of them.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return self._split(query), self._split(key), self._split(value)


@multi_head_exercise.misconception
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


@multi_head_exercise.misconception
class OneProjectionForAll(MultiHeadAttention):
    """You use q_proj for queries, keys and values alike.

    Asking, being found and answering are three roles, and each has its own projection.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        return self._split(self.q_proj(query)), self._split(self.q_proj(key)), self._split(self.q_proj(value))


@multi_head_exercise.misconception
class BiasesForgotten(MultiHeadAttention):
    """You multiply by the weights of q_proj, k_proj and v_proj, but leave out their biases.

    A projection is an nn.Linear with a bias. Calling it adds the bias by itself.
    """

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        pairs = (query, self.q_proj), (key, self.k_proj), (value, self.v_proj)
        q, k, v = (self._split(F.linear(x, proj.weight)) for x, proj in pairs)
        return q, k, v


@multi_head_exercise.misconception
class ResidualAdded(MultiHeadAttention):
    """You add the query to the output.

    A residual connection goes around this layer, in a later chapter. The layer itself returns what the heads found.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return query + super().forward(query, key, value, mask)


@multi_head_exercise.misconception
class ResidualAndNormInside(MultiHeadAttention):
    """You add the query to the output and normalise the sum.

    Some code has both inside this layer. Here they go around it, in later chapters; the layer itself returns what the
    heads found.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        return F.layer_norm(query + super().forward(query, key, value, mask), query.shape[-1:])


@multi_head_exercise.misconception
class WeightsReturnedToo(MultiHeadAttention):
    """You return two things, as torch's own layer does: the output alone is asked for.

    Later layers add this output to their input, and a tuple cannot be added.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
        return super().forward(query, key, value, mask), None


def scores_of(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    scores = similarity_scores(q, k) / math.sqrt(q.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


parameters_exercise = Exercise(
    attention_parameters,
    section="What a head costs",
    minutes=5,
    difficulty=1,
    why="The count does not depend on the number of heads: what heads cost is width, and not parameters.",
    hints=[
        "One nn.Linear from a to b numbers: how many weights, how many biases?",
        "Count one head's query projection: how wide is it on the input's side, how wide on the output's? Then all "
        "heads together.",
        "There are four projections, and the last one turns the merged heads into d_model numbers again.",
    ],
)


def widths_and_counts() -> list[tuple[int, int]]:
    """Three pairs of d_model and n_heads."""
    counts, widths = distinct(2, 17, 3, seed="n_heads"), distinct(3, 33, 3, seed="d_head")
    return [(count * width, count) for count, width in zip(counts, widths, strict=True)]


def counted(attention_parameters: Any, sizes: list[tuple[int, int]], **options: Any) -> Seen:
    return {
        f"parameters at width {d_model}, {n_heads} heads": attention_parameters(d_model, n_heads, **options)
        for d_model, n_heads in sizes
    }


@parameters_exercise.probe
def with_biases(attention_parameters: Any) -> Seen:
    """several heads, with biases"""
    return counted(attention_parameters, widths_and_counts(), bias=True)


@parameters_exercise.probe
def without_biases(attention_parameters: Any) -> Seen:
    """several heads, without biases"""
    return counted(attention_parameters, widths_and_counts(), bias=False)


@parameters_exercise.probe
def by_default(attention_parameters: Any) -> Seen:
    """several heads, nothing said about biases"""
    return counted(attention_parameters, widths_and_counts())


@parameters_exercise.probe
def by_position(attention_parameters: Any) -> Seen:
    """several heads of 64 columns, all arguments by position, without and with biases"""
    counts = distinct(4, 40, 2, seed="large")
    return {
        f"parameters of {n} heads": attention_parameters(64 * n, n, bias)
        for n, bias in zip(counts, (False, True), strict=True)
    }


@parameters_exercise.probe
def of_one_head(attention_parameters: Any) -> Seen:
    """one head, and a width of 1"""
    sizes = [(d_model, 1) for d_model, _ in widths_and_counts()]
    return counted(attention_parameters, [*sizes, (1, 1)])


@parameters_exercise.probe
def with_heads_of_one_number(attention_parameters: Any) -> Seen:
    """as many heads as columns"""
    return counted(attention_parameters, [(n, n) for n in distinct(2, 50, 3, seed="ones")])


@parameters_exercise.misconception
def once_for_each_head(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count a full d_model × d_model projection for each head.

    A head's projection is narrow: it gives d_head numbers, not d_model. Together the heads are as wide as one.
    """
    return n_heads * attention_parameters(d_model, n_heads, bias)


@parameters_exercise.misconception
def inputs_once_for_each_head(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count full d_model × d_model projections of queries, keys and values for each head.

    A head's projections are narrow: they give d_head numbers, not d_model. Together the heads are as wide as one.
    """
    return (3 * n_heads + 1) * attention_parameters(d_model, 1, bias) // 4


@parameters_exercise.misconception
def output_projection_forgotten(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count three projections; the one that mixes the heads is missing.

    Queries, keys and values need one each, and out_proj is the fourth.
    """
    return attention_parameters(d_model, n_heads, bias) // 4 * 3


@parameters_exercise.misconception
def one_projection(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count a single projection.

    Queries, keys and values have one each, and the output has one as well.
    """
    return attention_parameters(d_model, n_heads, bias) // 4


@parameters_exercise.misconception
def biases_forgotten(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count weights alone, also where there are biases.

    Each projection with a bias adds one number for each of its outputs.
    """
    return attention_parameters(d_model, n_heads, False)


@parameters_exercise.misconception
def biases_always(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count biases also where bias is False.

    The argument says whether the projections have them.
    """
    return attention_parameters(d_model, n_heads, True)


@parameters_exercise.misconception
def output_bias_forgotten(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count the biases of three projections out of four.

    out_proj has a bias too.
    """
    return attention_parameters(d_model, n_heads, bias) - (d_model if bias else 0)


@parameters_exercise.misconception
def input_cut_into_blocks(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count d_head × d_head projections, as if each head saw only its block of the input.

    Each head's projections read all d_model columns and write d_head.
    """
    d_head = d_model // n_heads
    return attention_parameters(d_model, n_heads, bias) - 3 * (d_model * d_model - n_heads * d_head * d_head)


@parameters_exercise.misconception
def everything_cut_into_blocks(d_model: int, n_heads: int, bias: bool = True) -> int:
    """Each of your four projections has only d_model · d_head weights in all.

    A head's projection reads all d_model columns and writes d_head, and there are n_heads of them; the output
    projection mixes all heads. That is d_model · d_model each.
    """
    d_head = d_model // n_heads
    return 4 * (n_heads * d_head * d_head + (d_model if bias else 0))


@parameters_exercise.misconception
def one_number_for_each_bias(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count one number for each bias.

    A bias is a vector: one number for each of the projection's outputs.
    """
    return 4 * (d_model * d_model + (1 if bias else 0))


@parameters_exercise.misconception
def multiplied_by_the_head_width(d_model: int, n_heads: int, bias: bool = True) -> int:
    """Your count has d_model × d_head weights for each projection, as if there were one head.

    Each of the n_heads heads has such a matrix; side by side they are d_model × d_model.
    """
    d_head = d_model // n_heads
    return 4 * (d_model * d_head + (d_head if bias else 0))


@parameters_exercise.misconception
def one_head_alone(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count the input projections of a single head.

    There are n_heads of them, each d_model × d_head.
    """
    d_head = d_model // n_heads
    of_a_head = 3 * (d_model * d_head + (d_head if bias else 0))
    return of_a_head + attention_parameters(d_model, n_heads, bias) // 4


similarity_exercise = Exercise(
    head_similarity,
    section="How alike are two heads?",
    minutes=15,
    difficulty=2,
    why="It shows whether heads have learned different things, which nothing in the loss asks of them.",
    hints=[
        "Start with two rows: one query's weights in head g and in head h. What is the cosine of the angle between "
        "them?",
        "If all rows have length 1, their cosines are dot products. Along which dimension is a row?",
        "One matrix product can give all pairs of heads at once, if head and key are the last two dimensions.",
        "Average last: first all cosines (batch, query, head, head), then the mean over batch and query.",
    ],
    equivalents={
        "cosines = rows @ rows.transpose(-2, -1)  ->  cosines = rows @ rows.transpose(2, -1)": "the same dimension",
        "return cosines.mean(dim=(0, 1))  ->  return cosines.mean(dim=(1, 0))": "the same two dimensions",
    },
)


def attention_weights() -> tuple[Tensor]:
    return (normal(2, 3, 4, 5, seed="scores", std=1.5).softmax(dim=-1),)


@similarity_exercise.probe
def of_soft_heads(head_similarity: Any) -> Seen:
    """three heads, four queries over five keys, in a batch of two"""
    return {"similarity": head_similarity(*attention_weights())}


@similarity_exercise.probe
def of_sharp_heads(head_similarity: Any) -> Seen:
    """two sharp heads, six queries over four keys, in a batch of three"""
    return {"similarity": head_similarity(normal(3, 2, 6, 4, seed="scores", std=4.0).softmax(dim=-1))}


@similarity_exercise.probe
def of_masked_heads(head_similarity: Any) -> Seen:
    """four heads over five tokens that do not see their future, so that some weights are exactly 0"""
    scores = normal(1, 4, 5, 5, seed="scores", std=2.0)
    return {"similarity": head_similarity(scores.masked_fill(torch.ones(5, 5).triu(1).bool(), -math.inf).softmax(-1))}


@similarity_exercise.probe
def of_a_head_and_its_copy(head_similarity: Any) -> Seen:
    """three heads, of which the first and the last are equal"""
    weights = normal(2, 3, 6, 4, seed="scores", std=2.0).softmax(dim=-1)
    weights[:, 2] = weights[:, 0]
    return {"similarity": head_similarity(weights)}


@similarity_exercise.probe
def of_sizes_of_one(head_similarity: Any) -> Seen:
    """a batch of one, a single head, a single query, each in turn"""
    return {
        f"similarity with {words}": head_similarity(normal(*shape, 5, seed="ones", std=1.5).softmax(dim=-1))
        for words, shape in one_of_each(sequence=2, head=3, query=4)
    }


usual(similarity_exercise, attention_weights)


@similarity_exercise.property
def of_a_single_key(head_similarity: Any) -> Seen:
    """weights over a single key, which has the weight 1 in every head

    Where there is a single key, all heads look at it, and every similarity is 1.
    """
    return {"similarity": head_similarity(torch.ones(2, 3, 4, 1))}


@similarity_exercise.misconception
def cosine_of_the_averages(weights: Tensor) -> Tensor:
    """You average the maps over batch and queries first, and compare the averages.

    Two heads that look at different keys for each query can have the same average. Compare row by row, then average.
    """
    return head_similarity(weights.mean(dim=(0, 2), keepdim=True))


@similarity_exercise.misconception
def cosine_of_whole_maps(weights: Tensor) -> Tensor:
    """You compare whole maps (query, key) by one cosine, so that sharp rows count more than soft ones.

    A row is one query's decision, and every query counts alike: one cosine for each query, then the mean.
    """
    return head_similarity(weights.flatten(2).unsqueeze(2))


@similarity_exercise.misconception
def cosine_of_everything(weights: Tensor) -> Tensor:
    """You compare the heads by one cosine over batch, queries and keys together.

    Then sharp rows count more than soft ones. One cosine for each query of each sequence, then the mean over both.
    """
    return head_similarity(weights.transpose(0, 1).flatten(1)[None, :, None])


@similarity_exercise.misconception
def dot_products(weights: Tensor) -> Tensor:
    """You take dot products of the rows as they are; their lengths are not divided out.

    A row sums to 1, but its length does not: it is 1 for a sharp row and less for a soft one. So even a head and
    itself would not have the similarity 1.
    """
    rows = weights.transpose(1, 2)
    return (rows @ rows.transpose(-2, -1)).mean(dim=(0, 1))


@similarity_exercise.misconception
def along_the_queries(weights: Tensor) -> Tensor:
    """You compare columns: how all queries look at one key.

    A row, one query's weights over the keys, is what a head decides. The cosine runs over the keys.
    """
    return head_similarity(weights.transpose(-2, -1))


@similarity_exercise.misconception
def summed_up(weights: Tensor) -> Tensor:
    """You add the cosines up instead of averaging them.

    Then the number grows with the batch and with the sequence. A head and itself should have the similarity 1.
    """
    return head_similarity(weights) * (weights.shape[0] * weights.shape[2])


@similarity_exercise.misconception
def averaged_over_the_batch_alone(weights: Tensor) -> Tensor:
    """You average over the batch but add up over the queries.

    The mean is over both: every query of every sequence counts once.
    """
    return head_similarity(weights) * weights.shape[2]


@similarity_exercise.misconception
def first_sequence_alone(weights: Tensor) -> Tensor:
    """You look at the first sequence of the batch alone.

    The mean is over all sequences and all queries.
    """
    return head_similarity(weights[:1])


@similarity_exercise.misconception
def distance_instead(weights: Tensor) -> Tensor:
    """You return one minus the cosine: a distance.

    Similarity is asked for: equal heads give 1.
    """
    return 1 - head_similarity(weights)


@similarity_exercise.misconception
def correlation(weights: Tensor) -> Tensor:
    """You subtract each row's mean first, which gives the correlation.

    The cosine takes the weights as they are; so two uniform heads have the similarity 1, where a correlation would be
    0/0.
    """
    rows = weights - weights.mean(dim=-1, keepdim=True)
    return head_similarity(rows)


@similarity_exercise.misconception
def every_query_with_every_query(weights: Tensor) -> Tensor:
    """You compare the rows of all pairs of queries, also of different ones.

    Two heads are alike if they look alike at the same moment: the cosine is of their rows at the same query.
    """
    rows = F.normalize(weights, dim=-1)
    return torch.einsum("bgqk,bhrk->bghqr", rows, rows).mean(dim=(0, 3, 4))


@similarity_exercise.misconception
def averaged_over_the_queries_alone(weights: Tensor) -> Tensor:
    """You average over the queries but add up over the batch.

    The mean is over both: every query of every sequence counts once.
    """
    return head_similarity(weights) * weights.shape[0]


@similarity_exercise.misconception
def most_alike(weights: Tensor) -> Tensor:
    """You return the largest cosine that two heads reach, not the average.

    One query at which two heads agree would make them look alike everywhere.
    """
    rows = F.normalize(weights, dim=-1).transpose(1, 2)
    return (rows @ rows.transpose(-2, -1)).amax(dim=(0, 1))


@similarity_exercise.misconception
def one_for_each_sequence(weights: Tensor) -> Tensor:
    """Your result is (batch, head, head): you average over the queries and keep the batch.

    One number for each pair of heads is asked for, averaged over both.
    """
    rows = F.normalize(weights, dim=-1).transpose(1, 2)
    return (rows @ rows.transpose(-2, -1)).mean(dim=1)
