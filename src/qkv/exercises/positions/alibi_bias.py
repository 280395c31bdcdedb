"""The exercise `alibi_bias`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import follows_default_dtype, repeats
from proctor.inside.situations import Seen
from qkv.exercises.positions.shared import in_float64_by_default
from qkv.model.positions import (
    alibi_bias,
)

exercise = Exercise(
    alibi_bias,
    section="A price for every step back",
    minutes=10,
    difficulty=2,
    why="A penalty that grows with distance needs no table, so there is one for every length.",
    hints=[
        "First the table of steps back, i - j, for one head. What stands on its diagonal, and what above it?",
        "For n = 8 the slopes are 1/2, 1/4, …, 1/256. Which exponents does that need? And for n = 4?",
        "Shapes: slopes (head, 1, 1) times steps (query, key). A bias makes far keys less likely: which sign?",
    ],
)


@exercise.probe
def a_power_of_two(alibi_bias: Any) -> Seen:
    """two, four or sixteen heads, and eight; some positions"""
    heads = 2 ** distinct(1, 5, 2, seed="power")[0]
    length, longer = distinct(4, 12, 2, seed="lengths")
    return {"bias": alibi_bias(heads, length), "bias of eight heads": alibi_bias(8, longer)}


@exercise.probe
def not_a_power_of_two(alibi_bias: Any) -> Seen:
    """numbers of heads that are no power of two, some positions"""
    heads, length = whole(9, 16, seed="heads"), whole(4, 9, seed="length")
    return {"bias": alibi_bias(heads, length), "bias of three heads": alibi_bias(3, length + 2)}


@exercise.probe
def one_head(alibi_bias: Any) -> Seen:
    """one head, for two lengths"""
    return {f"bias {i}": alibi_bias(1, n) for i, n in enumerate(distinct(3, 15, 2, seed="lengths"))}


@exercise.probe
def one_position(alibi_bias: Any) -> Seen:
    """a single position, for three numbers of heads, and one of each"""
    return {f"bias {i}": alibi_bias(n, 1) for i, n in enumerate([1, *distinct(2, 15, 3, seed="heads")])}


@exercise.probe
def hundreds_of_steps_back(alibi_bias: Any) -> Seen:
    """two heads, some hundred positions"""
    return {"bias": alibi_bias(2, whole(257, 300, seed="long"))}


exercise.property(repeats(a_power_of_two, not_a_power_of_two))


def some_biases(alibi_bias: Any) -> Tensor:
    return alibi_bias(5, 4)


exercise.property(in_float64_by_default(some_biases))


exercise.remark(follows_default_dtype(some_biases))


def geometric(n_heads: int) -> Tensor:
    return 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


def priced(slopes: Tensor, steps_back: Tensor) -> Tensor:
    return (-slopes * steps_back).masked_fill(steps_back < 0, -math.inf)


@exercise.assembled
def alibi_in_steps(n_heads: int, length: int, *, slopes: Any = geometric, price: Any = priced) -> Tensor:
    position = torch.arange(length)
    result: Tensor = price(slopes(n_heads)[:, None, None], position[:, None] - position)
    return result


@exercise.instead_of("slopes")
def slopes_of_eight_heads(n_heads: int) -> Tensor:
    """Your slopes are 1/2, 1/4, 1/8, … whatever the number of heads is.

    That is right for eight heads. The exponents should reach 8 at the last head, so they take steps of 8/n.
    """
    return 2.0 ** -torch.arange(1, n_heads + 1)


@exercise.instead_of("slopes")
def eight_left_out(n_heads: int) -> Tensor:
    """Your slopes are 2^(-h/n): the 8 in the exponent is missing.

    The last slope is 1/2 then, where it should be 1/256, and no head sees far.
    """
    return 2.0 ** (-torch.arange(1, n_heads + 1) / n_heads)


@exercise.instead_of("slopes")
def heads_counted_from_zero(n_heads: int) -> Tensor:
    """Your heads count from 0, so the first slope is 1 and the last one is too steep.

    The exponent is -8h/n for h = 1 … n.
    """
    return 2.0 ** (-8 * torch.arange(n_heads) / n_heads)


@exercise.instead_of("slopes")
def one_slope_for_all(n_heads: int) -> Tensor:
    """All your heads have the same slope.

    The point of many slopes is many reaches: a steep head sees its neighbours, a flat one sees far.
    """
    return torch.full((n_heads,), 2.0 ** (-8 / n_heads))


@exercise.instead_of("slopes")
def slopes_in_equal_steps(n_heads: int) -> Tensor:
    """Your slopes fall in equal steps; they should fall by equal ratios.

    Each head's slope is the one before times 2^(-8/n), so that the reaches spread over all scales.
    """
    return torch.arange(n_heads, 0, -1) / n_heads


@exercise.instead_of("slopes")
def slopes_of_the_nearest_power(n_heads: int) -> Tensor:
    """Where the number of heads is no power of two, your slopes come from the powers next to it.

    The authors' own code does so, and weaves two series together. Here one series is asked for, for every number of
    heads: 2^(-8h/n).
    """
    lower = 2 ** math.floor(math.log2(n_heads))
    return torch.cat([geometric(lower), geometric(2 * lower)[0::2][: n_heads - lower]])


@exercise.instead_of("price")
def large_instead_of_infinite(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """You hide later keys with a large negative number.

    Beside a score of the same size it hides nothing, and in float16 it overflows. -inf is a weight of exactly 0,
    whatever the scores are.
    """
    return (-slopes * steps_back).masked_fill(steps_back < 0, -1e9)


def alike_in_every_row(slopes: Tensor, steps_back: Tensor, first: int) -> Tensor:
    length = steps_back.shape[-1]
    keys = torch.arange(first, first + length)
    return (slopes * keys).expand(-1, length, -1).masked_fill(steps_back < 0, -math.inf)


@exercise.instead_of("price")
def the_same_row_for_every_query(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Your bias grows with the key's position and is the same in every row.

    After a softmax the two cannot be told apart, and some code saves memory that way. Here the bias itself is asked
    for: 0 for the key at the query's own place.
    """
    return alike_in_every_row(slopes, steps_back, 0)


@exercise.instead_of("price")
def the_same_row_counted_from_one(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Your bias is slope·(j+1): it grows with the key's position and is the same in every row.

    After a softmax the two cannot be told apart, since they differ by the same number in a whole row. Here the bias
    itself is asked for: 0 for the key at the query's own place.
    """
    return alike_in_every_row(slopes, steps_back, 1)


@exercise.instead_of("price")
def the_row_of_the_last_query(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Every row of your bias counts back from the last position, as if all queries were there.

    After a softmax the two cannot be told apart, since they differ by the same number in a whole row. Here the bias
    itself is asked for: 0 for the key at the query's own place.
    """
    return alike_in_every_row(slopes, steps_back, 1 - steps_back.shape[-1])


@exercise.instead_of("price")
def distance_rewarded(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Your bias grows with the distance: far keys are rewarded.

    A bias is added to the scores. To make far keys cost something it has to be negative.
    """
    return (slopes * steps_back).masked_fill(steps_back < 0, -math.inf)


@exercise.instead_of("price")
def future_allowed(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Later keys are not hidden: your bias charges for steps ahead as for steps back.

    This bias is for a model that writes from left to right. Keys after the query should get -inf.
    """
    return -slopes * steps_back.abs()


@exercise.instead_of("price")
def future_rewarded(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Later keys are not hidden, and your bias even rewards them: i - j is negative there.

    Keys after the query should get -inf.
    """
    return -slopes * steps_back


@exercise.instead_of("price")
def future_at_zero(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Later keys get a bias of 0.

    A bias of 0 is no obstacle: it is the best price of all. Only -inf becomes a weight of exactly 0.
    """
    return (-slopes * steps_back).tril()


@exercise.instead_of("price")
def rows_and_columns_exchanged(slopes: Tensor, steps_back: Tensor) -> Tensor:
    """Queries and keys have changed places: your rows are keys.

    Row i belongs to query i. With the table turned, a token sees the future and not the past.
    """
    return priced(slopes, steps_back).transpose(-2, -1)


squeezes(exercise)
