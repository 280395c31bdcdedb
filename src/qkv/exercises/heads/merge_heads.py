"""The exercise `merge_heads`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, one_of_each
from qkv.model.heads import merge_heads

exercise = Exercise(
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


@exercise.probe
def of_three_heads(merge_heads: Any) -> Seen:
    """three heads of width 4 over six tokens, in a batch of two"""
    return {"merged": merge_heads(*head_outputs())}


@exercise.probe
def of_square_heads(merge_heads: Any) -> Seen:
    """four heads of width 4 over four tokens, so that a wrong axis still fits"""
    return {"merged": merge_heads(normal(3, 4, 4, 4, seed="heads"))}


@exercise.probe
def of_a_single_head(merge_heads: Any) -> Seen:
    """one head"""
    return {"merged": merge_heads(normal(2, 1, 3, 5, seed="heads"))}


@exercise.probe
def of_heads_of_one_column(merge_heads: Any) -> Seen:
    """five heads of one column each"""
    return {"merged": merge_heads(normal(2, 5, 3, 1, seed="heads"))}


@exercise.probe
def of_one_of_each(merge_heads: Any) -> Seen:
    """a batch of one, a single head, a single token, heads of one column, each in turn"""
    return {
        f"merged with {words}": merge_heads(normal(*shape, seed="heads"))
        for words, shape in one_of_each(sequence=2, head=3, token=6, column=4)
    }


usual(exercise, head_outputs)


@exercise.property
def after_a_split(merge_heads: Any) -> Seen:
    """heads that are views of a sequence of width 15, as splitting leaves them

    Where the heads are views of another tensor, as splitting leaves them, your code raises an error or gives other
    numbers. What counts is where an entry stands by its indices, not in memory: `view` looks at memory, `reshape`
    copies where it must.
    """
    heads = normal(2, 4, 15, seed="x").view(2, 4, 3, 5).transpose(1, 2)
    return {"merged": merge_heads(heads)}


@exercise.misconception
def joined_without_turning(x: Tensor) -> Tensor:
    """You reshape straight to (batch, seq, d_model), so a row mixes different tokens of one head.

    In memory all tokens of the first head come before the second head. The heads have to stand beside their token
    before anything is joined.
    """
    batch, head, seq, d_head = x.shape
    return x.reshape(batch, seq, head * d_head)


@exercise.misconception
def heads_added(x: Tensor) -> Tensor:
    """You add the heads up.

    A sum forgets which head said what, and leaves only d_head columns. Put side by side, nothing is lost.
    """
    return x.sum(dim=1)


@exercise.misconception
def heads_averaged(x: Tensor) -> Tensor:
    """You average the heads.

    The average forgets which head said what; the heads were split to keep just that apart. Put them side by side.
    """
    return x.mean(dim=1)


@exercise.misconception
def columns_shuffled(x: Tensor) -> Tensor:
    """Your columns alternate between the heads: first column of each head, then second column of each.

    The inverse of the split keeps a head's columns together: first all of head 0, then all of head 1.
    """
    return x.permute(0, 2, 3, 1).flatten(-2)


@exercise.misconception
def one_head_after_another(x: Tensor) -> Tensor:
    """You join the heads along the sequence: the result has head · seq rows of width d_head.

    There should be one row for each token, as before the split, and it should hold the columns of all heads.
    """
    return x.flatten(1, 2)


@exercise.misconception
def turned_but_not_joined(x: Tensor) -> Tensor:
    """Your result still has four dimensions, (batch, seq, head, d_head).

    The order is right. What is left is to make one dimension of the last two.
    """
    return x.transpose(1, 2)


@exercise.misconception
def tokens_and_columns_exchanged(x: Tensor) -> Tensor:
    """You exchange tokens and columns: a row of your result belongs to a column, not to a token.

    One row for each token is asked for, with the columns of all heads in it.
    """
    return x.permute(0, 3, 1, 2).flatten(-2)


@exercise.misconception
def viewed_after_the_turn(x: Tensor) -> Tensor:
    """You turn the heads as you should and then call `view`, which torch refuses.

    A view only counts the entries differently, in the order in which they lie in memory; turning changed the order by
    index and left memory as it was. The numbers have to be laid out anew first.
    """
    batch, head, seq, d_head = x.shape
    return x.transpose(1, 2).view(batch, seq, head * d_head)


@exercise.misconception
def merged_and_squeezed(x: Tensor) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension. A batch of one, and a single token, are sizes like any other.
    """
    return merge_heads(x).squeeze()


@exercise.misconception
def first_head_alone(x: Tensor) -> Tensor:
    """You return the first head alone.

    Each head found something of its own. The result holds all of them side by side: d_model columns.
    """
    return x[:, 0]


@exercise.misconception
def last_head_first(x: Tensor) -> Tensor:
    """You join the heads in reverse order.

    Head 0 came from the first columns and goes back there: merging undoes the split.
    """
    return merge_heads(x.flip(1))


@exercise.misconception
def wrong_pair_turned(x: Tensor) -> Tensor:
    """You turn the last two dimensions, tokens and columns, before you join; heads and tokens are the pair.

    What is to become one dimension has to stand side by side at the end: head and d_head.
    """
    batch, head, seq, d_head = x.shape
    return x.transpose(-2, -1).reshape(batch, seq, head * d_head)
