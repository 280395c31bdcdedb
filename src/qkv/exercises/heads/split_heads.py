"""The exercise `split_heads`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, one_of_each
from qkv.model.heads import split_heads

exercise = Exercise(
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


@exercise.probe
def three_heads(split_heads: Any) -> Seen:
    """two sequences of six tokens, width 12, three heads"""
    return {"heads": split_heads(*sequences())}


@exercise.probe
def square_heads(split_heads: Any) -> Seen:
    """four heads of width 4 over four tokens, so that a wrong axis still fits"""
    return {"heads": split_heads(normal(3, 4, 16, seed="x"), 4)}


@exercise.probe
def a_single_head(split_heads: Any) -> Seen:
    """one head, which gets all columns"""
    return {"heads": split_heads(normal(2, 3, 5, seed="x"), n_heads=1)}


@exercise.probe
def heads_of_one_column(split_heads: Any) -> Seen:
    """as many heads as columns"""
    return {"heads": split_heads(normal(2, 10, 5, seed="x"), 5)}


@exercise.probe
def with_one_of_each(split_heads: Any) -> Seen:
    """a batch of one, a single token, a single head, heads of one column, each in turn"""
    return {
        f"heads with {words}": split_heads(normal(batch, seq, head * d_head, seed="x"), head)
        for words, (batch, seq, head, d_head) in one_of_each(sequence=2, token=6, head=3, column=4)
    }


usual(exercise, sequences)


@exercise.property
def turned_in_memory(split_heads: Any) -> Seen:
    """an input that is a turned view of another tensor

    Where the input is a turned view of another tensor, your code raises an error or gives other numbers. What counts is
    where an entry stands by its indices, not in memory: `view` looks at memory, `reshape` copies where it must.
    """
    return {"heads": split_heads(normal(4, 10, 3, seed="x").permute(2, 0, 1), 2)}


@exercise.misconception
def reshaped_in_one_go(x: Tensor, n_heads: int) -> Tensor:
    """You reshape straight to (batch, head, seq, d_head), and a head's rows come from different tokens.

    The shape is right, the numbers are not in their places: a reshape keeps the order in memory, where all columns of
    the first token come before the second token. Each token then attends with pieces of its neighbours.
    """
    batch, seq, d_model = x.shape
    return x.reshape(batch, n_heads, seq, d_model // n_heads)


@exercise.misconception
def heads_behind_tokens(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (batch, seq, head, d_head): the heads stand after the tokens.

    The cut is right. But attention multiplies the last two dimensions, so with this order the heads of one token
    would look at each other, instead of the tokens within one head.
    """
    return split_heads(x, n_heads).transpose(1, 2)


@exercise.misconception
def every_nth_column(x: Tensor, n_heads: int) -> Tensor:
    """Your head h holds every n-th column, starting at h, instead of a block of neighbours.

    A head is a block: columns h·d_head up to (h+1)·d_head - 1. The layer would still learn with another assignment, but
    weights from elsewhere would no longer fit.
    """
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


@exercise.misconception
def heads_before_the_batch(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (head, batch, seq, d_head): the heads stand in front of the batch.

    Stacking chunks does this. Everything later counts on the batch coming first; a mask per sequence would meet the
    heads.
    """
    return split_heads(x, n_heads).transpose(0, 1)


@exercise.misconception
def tokens_cut(x: Tensor, n_heads: int) -> Tensor:
    """You cut the sequence into pieces, not the columns: each head gets some of the tokens.

    A head sees every token, through a part of its columns. With the tokens shared out, most pairs could never meet.
    """
    return x.unflatten(1, (n_heads, -1))


@exercise.misconception
def count_and_width_exchanged(x: Tensor, n_heads: int) -> Tensor:
    """You make heads of width n_heads; n_heads is how many there are.

    The width follows from the count: d_head = d_model / n_heads.
    """
    return split_heads(x, x.shape[-1] // n_heads)


@exercise.misconception
def all_columns_for_everyone(x: Tensor, n_heads: int) -> Tensor:
    """You give each head all d_model columns.

    Then the layer costs n_heads times as much. Here every head gets d_head = d_model / n_heads columns of its own.
    """
    return x.unsqueeze(1).repeat(1, n_heads, 1, 1)


@exercise.misconception
def columns_before_tokens(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (batch, head, d_head, seq): tokens and columns have changed places.

    Keys are turned like this inside the product with the queries, and attention does that by itself.
    """
    return split_heads(x, n_heads).transpose(-2, -1)


@exercise.misconception
def folded_into_the_batch(x: Tensor, n_heads: int) -> Tensor:
    """Your result is (batch · head, seq, d_head): the heads are folded into the batch.

    Each head is cut out as it should be, and `bmm` wants it so. But four dimensions are asked for, so that a mask for
    each sequence still finds its place.
    """
    return split_heads(x, n_heads).flatten(0, 1)


@exercise.misconception
def folded_in_one_go(x: Tensor, n_heads: int) -> Tensor:
    """You reshape straight to (batch · head, seq, d_head): heads and batch share a dimension, and rows mix tokens.

    A reshape keeps the order in memory, where all columns of the first token come before the second token. Besides,
    four dimensions are asked for: batch, head, seq, d_head.
    """
    batch, seq, d_model = x.shape
    return x.reshape(batch * n_heads, seq, d_model // n_heads)


@exercise.misconception
def turned_before_the_cut(x: Tensor, n_heads: int) -> Tensor:
    """You turn tokens and columns first and then reshape, so the rows of a head mix several tokens.

    A reshape counts on in the order in which the dimensions stand. Cut the columns while they are the last dimension,
    and move the heads afterwards.
    """
    batch, seq, d_model = x.shape
    return x.transpose(1, 2).reshape(batch, n_heads, seq, d_model // n_heads)


@exercise.misconception
def viewed_after_turning(x: Tensor, n_heads: int) -> Tensor:
    """You call `view` on a tensor that was turned, and torch refuses.

    A view only counts the entries differently, in the order in which they lie in memory; turning changed the order by
    index and left memory as it was. Besides, the columns should be cut before anything is turned.
    """
    batch, seq, d_model = x.shape
    return x.transpose(1, 2).view(batch, n_heads, seq, d_model // n_heads)


@exercise.misconception
def first_block_for_everyone(x: Tensor, n_heads: int) -> Tensor:
    """You give every head the same block of columns, the first.

    Head h holds the columns from h·d_head on. With one block for all, the other columns are never looked at.
    """
    d_head = x.shape[-1] // n_heads
    return x[..., :d_head].unsqueeze(1).repeat(1, n_heads, 1, 1)


@exercise.misconception
def heads_in_reverse(x: Tensor, n_heads: int) -> Tensor:
    """Your heads are right, but in reverse order.

    Head 0 holds the first block of columns. Any order would learn; weights from elsewhere, and a mask or a figure per
    head, count on this one.
    """
    return split_heads(x, n_heads).flip(1)


squeezes(exercise)
