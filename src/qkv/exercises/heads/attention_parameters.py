"""The exercise `attention_parameters`."""

from __future__ import annotations

from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.heads import attention_parameters

exercise = Exercise(
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


@exercise.probe
def with_biases(attention_parameters: Any) -> Seen:
    """several heads, with biases"""
    return counted(attention_parameters, widths_and_counts(), bias=True)


@exercise.probe
def without_biases(attention_parameters: Any) -> Seen:
    """several heads, without biases"""
    return counted(attention_parameters, widths_and_counts(), bias=False)


@exercise.probe
def by_default(attention_parameters: Any) -> Seen:
    """several heads, nothing said about biases"""
    return counted(attention_parameters, widths_and_counts())


@exercise.probe
def by_position(attention_parameters: Any) -> Seen:
    """several heads of 64 columns, all arguments by position, without and with biases"""
    counts = distinct(4, 40, 2, seed="large")
    return {
        f"parameters of {n} heads": attention_parameters(64 * n, n, bias)
        for n, bias in zip(counts, (False, True), strict=True)
    }


@exercise.probe
def of_one_head(attention_parameters: Any) -> Seen:
    """one head, and a width of 1"""
    sizes = [(d_model, 1) for d_model, _ in widths_and_counts()]
    return counted(attention_parameters, [*sizes, (1, 1)])


@exercise.probe
def with_heads_of_one_number(attention_parameters: Any) -> Seen:
    """as many heads as columns"""
    return counted(attention_parameters, [(n, n) for n in distinct(2, 50, 3, seed="ones")])


exercise.property(repeats(with_biases, without_biases))


@exercise.misconception
def once_for_each_head(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count a full d_model × d_model projection for each head.

    A head's projection is narrow: it gives d_head numbers, not d_model. Together the heads are as wide as one.
    """
    return n_heads * attention_parameters(d_model, n_heads, bias)


@exercise.misconception
def inputs_once_for_each_head(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count full d_model × d_model projections of queries, keys and values for each head.

    A head's projections are narrow: they give d_head numbers, not d_model. Together the heads are as wide as one.
    """
    return (3 * n_heads + 1) * attention_parameters(d_model, 1, bias) // 4


@exercise.misconception
def output_projection_forgotten(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count three projections; the one that mixes the heads is missing.

    Queries, keys and values need one each, and out_proj is the fourth.
    """
    return attention_parameters(d_model, n_heads, bias) // 4 * 3


@exercise.misconception
def one_projection(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count a single projection.

    Queries, keys and values have one each, and the output has one as well.
    """
    return attention_parameters(d_model, n_heads, bias) // 4


@exercise.misconception
def biases_forgotten(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count weights alone, also where there are biases.

    Each projection with a bias adds one number for each of its outputs.
    """
    return attention_parameters(d_model, n_heads, False)


@exercise.misconception
def biases_always(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count biases also where bias is False.

    The argument says whether the projections have them.
    """
    return attention_parameters(d_model, n_heads, True)


@exercise.misconception
def output_bias_forgotten(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count the biases of three projections out of four.

    out_proj has a bias too.
    """
    return attention_parameters(d_model, n_heads, bias) - (d_model if bias else 0)


@exercise.misconception
def input_cut_into_blocks(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count d_head × d_head projections, as if each head saw only its block of the input.

    Each head's projections read all d_model columns and write d_head.
    """
    d_head = d_model // n_heads
    return attention_parameters(d_model, n_heads, bias) - 3 * (d_model * d_model - n_heads * d_head * d_head)


@exercise.misconception
def everything_cut_into_blocks(d_model: int, n_heads: int, bias: bool = True) -> int:
    """Each of your four projections has only d_model · d_head weights in all.

    A head's projection reads all d_model columns and writes d_head, and there are n_heads of them; the output
    projection mixes all heads. That is d_model · d_model each.
    """
    d_head = d_model // n_heads
    return 4 * (n_heads * d_head * d_head + (d_model if bias else 0))


@exercise.misconception
def one_number_for_each_bias(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count one number for each bias.

    A bias is a vector: one number for each of the projection's outputs.
    """
    return 4 * (d_model * d_model + (1 if bias else 0))


@exercise.misconception
def multiplied_by_the_head_width(d_model: int, n_heads: int, bias: bool = True) -> int:
    """Your count has d_model × d_head weights for each projection, as if there were one head.

    Each of the n_heads heads has such a matrix; side by side they are d_model × d_model.
    """
    d_head = d_model // n_heads
    return 4 * (d_model * d_head + (d_head if bias else 0))


@exercise.misconception
def one_head_alone(d_model: int, n_heads: int, bias: bool = True) -> int:
    """You count the input projections of a single head.

    There are n_heads of them, each d_model × d_head.
    """
    d_head = d_model // n_heads
    of_a_head = 3 * (d_model * d_head + (d_head if bias else 0))
    return of_a_head + attention_parameters(d_model, n_heads, bias) // 4
