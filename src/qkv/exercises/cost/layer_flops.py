"""The exercise `layer_flops`."""

from __future__ import annotations

from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.cost import (
    layer_flops,
)

exercise = Exercise(
    layer_flops,
    section="What a layer costs",
    minutes=5,
    difficulty=1,
    why="It says what a length costs before anybody runs it, and from where on attention is the larger part.",
    hints=[
        "A product of (a, b) and (b, c) has a·c entries. How many multiply-adds does each of them take?",
        "There are four products with weights around the attention, two inside it for each head, two after it. Write "
        "the shapes beside each.",
        "Add up the products inside all heads: n_heads times the width of one head is d_model again.",
    ],
)


def parts(result: Any) -> Seen:
    projections, mixing, feed_forward = result
    return {"projections": projections, "mixing": mixing, "feed_forward": feed_forward}


@exercise.probe
def some_layer(layer_flops: Any) -> Seen:
    """a layer whose sizes all differ"""
    n, heads, d_head, d_ff = distinct(3, 30, 4, seed="sizes")
    return parts(layer_flops(n, heads * d_head, heads, d_ff))


@exercise.probe
def a_single_head(layer_flops: Any) -> Seen:
    """one head"""
    n, d_model, d_ff = distinct(5, 60, 3, seed="sizes of one head")
    return parts(layer_flops(n, d_model, 1, d_ff))


@exercise.probe
def a_single_position(layer_flops: Any) -> Seen:
    """a sequence of one position, heads of width 1"""
    d_model, d_ff = distinct(5, 60, 2, seed="sizes of one position")
    return parts(layer_flops(1, d_model, d_model, d_ff))


@exercise.probe
def a_long_text(layer_flops: Any) -> Seen:
    """a long text in a wide model"""
    n, heads = whole(4_000, 9_000, seed="long"), whole(8, 33, seed="heads")
    return parts(layer_flops(n, 64 * heads, heads, whole(300, 9_000, seed="wide")))


exercise.property(repeats(some_layer, a_single_head))


@exercise.property
def no_position(layer_flops: Any) -> Seen:
    """a sequence without a position

    For n = 0 there is nothing to compute: all three numbers are 0.
    """
    return parts(layer_flops(0, 12, 3, 20))


def four_products(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    return layer_flops(n, d_model, n_heads, d_ff)[0]


def two_products_a_head(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    return layer_flops(n, d_model, n_heads, d_ff)[1]


def two_layers(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    return layer_flops(n, d_model, n_heads, d_ff)[2]


@exercise.assembled
def flops_in_steps(
    n: int,
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    project: Any = four_products,
    mix: Any = two_products_a_head,
    feed: Any = two_layers,
) -> tuple[Any, Any, Any]:
    sizes = n, d_model, n_heads, d_ff
    return project(*sizes), mix(*sizes), feed(*sizes)


@exercise.misconception
def one_for_a_multiply_add(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You count a multiplication with its addition as one operation.

    Both conventions exist ("MACs" and "FLOPs"). Here each of the two counts, as in torch's own counter.
    """
    return tuple(part // 2 for part in layer_flops(n, d_model, n_heads, d_ff))


@exercise.misconception
def the_way_back_as_well(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You count the way back as well, which triples everything.

    That is what a training step costs. Here only the forward pass is asked for.
    """
    return tuple(3 * part for part in layer_flops(n, d_model, n_heads, d_ff))


@exercise.instead_of("project")
def output_projection_forgotten(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count three projections; the one after the attention is missing.

    Queries, keys, values, and then the output, which mixes the heads: four products of the same size.
    """
    return 6 * n * d_model**2


@exercise.instead_of("project")
def one_projection(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count one projection; there are four.

    Queries, keys, values and output have a matrix each.
    """
    return 2 * n * d_model**2


@exercise.instead_of("project")
def one_head_projected(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the projections of one head only.

    Each head's matrices are d_model × d_head; all of them side by side are d_model × d_model.
    """
    return 8 * n * d_model * (d_model // n_heads)


@exercise.instead_of("mix")
def scores_alone(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the scores, but not the averages of the values.

    Two products mix positions: queries with keys, and weights with values.
    """
    return 2 * n**2 * d_model


@exercise.instead_of("mix")
def full_width_for_each_head(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You let every head work at the full width, so mixing grows with the number of heads.

    A head is d_model / n_heads wide. All heads together cost what one head of full width would.
    """
    return 4 * n**2 * d_model * n_heads


@exercise.instead_of("mix")
def one_head_mixed(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the mixing of one head only.

    There are n_heads of them, each d_model / n_heads wide.
    """
    return 4 * n**2 * (d_model // n_heads)


@exercise.instead_of("mix")
def triangle_alone(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count the pairs that a causal mask leaves.

    A masked product is computed in full and then hidden. Here a mask saves nothing.
    """
    return 2 * n * (n + 1) * d_model


@exercise.instead_of("mix")
def wrong_size_squared(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """In the mixing you square d_model, where the number of positions should be squared.

    There is a score for each pair of positions; each takes d_model multiplications, over all heads.
    """
    return 4 * n * d_model**2


@exercise.instead_of("feed")
def one_layer_of_two(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You count one of the two layers of the feed-forward network.

    It goes up to d_ff and down again: two products of the same size.
    """
    return 2 * n * d_model * d_ff


@exercise.instead_of("feed")
def four_times_as_wide(n: int, d_model: int, n_heads: int, d_ff: int) -> int:
    """You take the feed-forward network to be four times as wide as the model.

    It often is. Here d_ff says how wide.
    """
    return 16 * n * d_model**2


@exercise.misconception
def mixing_last(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You return the feed-forward network second and the mixing third.

    The numbers are right; the order is projections, mixing, feed-forward.
    """
    projections, mixing, feed_forward = layer_flops(n, d_model, n_heads, d_ff)
    return projections, feed_forward, mixing


@exercise.misconception
def one_number(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You return one number, the sum.

    The three are asked for one by one: only one of them grows with the square of n.
    """
    return sum(layer_flops(n, d_model, n_heads, d_ff))


@exercise.misconception
def numbers_with_a_point(n: int, d_model: int, n_heads: int, d_ff: int) -> Any:
    """You return floats.

    Counts are integers. Python's integers are exact at any size, floats are not. A float comes of a `/`, where `//`
    stays whole, or of a number that is written with a point, and makes all that it meets a float.
    """
    return tuple(float(part) for part in layer_flops(n, d_model, n_heads, d_ff))
