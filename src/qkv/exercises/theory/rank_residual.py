"""The exercise `rank_residual`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, integers, normal, whole
from proctor.inside.properties import (
    usual,
)
from proctor.inside.situations import Seen
from qkv.model.theory import (
    rank_residual,
)

exercise = Exercise(
    rank_residual,
    section="Without skips all become one",
    minutes=5,
    difficulty=1,
    why="One number that tells whether the vectors of a sequence are still different from each other, layer by layer.",
    hints=[
        "The mean row is one vector, (..., 1, d). What does subtracting it leave, if all rows are equal?",
        "A Frobenius norm is the root of the sum of all squares of a matrix: over its last two dimensions, not over "
        "the batch.",
        "‖x‖² - seq·‖mean‖² is the same on paper as ‖x - mean‖², but where the rows are nearly equal it is a small "
        "difference of large numbers. Subtract before you square.",
    ],
    equivalents={
        "precise = x.to(torch.promote_types(x.dtype, torch.float32))  ->  "
        "precise = x.to(torch.promote_types(torch.float32, x.dtype))": "promotion does not ask for the order",
        "precise = x.to(torch.promote_types(x.dtype, torch.float32))  ->  precise = x.to(x.dtype)": (
            "the same to the precision of the dtypes looked at; answers need not be better"
        ),
    },
)


def sequence_of_vectors(seq: int, d: int, *leading: int, spread: float = 1.0) -> Tensor:
    """Vectors around one mean row, which is neither 0 nor the same in every component."""
    return normal(*leading, 1, d, seed="mean row") + spread * normal(*leading, seq, d, seed="rows")


def some_sequences() -> tuple[Tensor]:
    return (sequence_of_vectors(*distinct(3, 9, 2, seed="sizes"), 4),)


@exercise.probe
def some_vectors(rank_residual: Any) -> Seen:
    """several sequences of vectors"""
    return {"residual": rank_residual(*some_sequences())}


@exercise.probe
def one_sequence(rank_residual: Any) -> Seen:
    """one sequence, no leading dimension; two leading dimensions"""
    a, b, seq, d = distinct(2, 9, 4, seed="sizes")
    return {
        "residual of one": rank_residual(sequence_of_vectors(seq, d, spread=0.5)),
        "residual of many": rank_residual(sequence_of_vectors(seq, d, a, b, spread=2.0)),
    }


@exercise.probe
def nearly_equal_rows(rank_residual: Any) -> Seen:
    """float32 rows that are nearly equal, so that the residual is about 1e-3"""
    seq, d = distinct(12, 30, 2, seed="sizes")
    return {"residual": rank_residual(sequence_of_vectors(seq, d, 8, spread=1e-3))}


@exercise.probe
def small_and_large_numbers(rank_residual: Any) -> Seen:
    """numbers of about 1e-6, and of about 1e6"""
    x = sequence_of_vectors(*distinct(3, 9, 2, seed="sizes"), 4)
    return {"residual of small": rank_residual(1e-6 * x), "residual of large": rank_residual(1e6 * x)}


@exercise.probe
def vectors_of_one_number(rank_residual: Any) -> Seen:
    """vectors of a single number; sequences of a single vector; both"""
    seq, d = distinct(4, 10, 2, seed="sizes")
    return {
        "residual with d = 1": rank_residual(sequence_of_vectors(seq, 1, 3)),
        "residual with seq = 1": rank_residual(normal(d, 1, seq, seed="alone")),
        "residual with batch = 1": rank_residual(sequence_of_vectors(seq, d, 1)),
    }


@exercise.probe
def as_many_as_wide(rank_residual: Any) -> Seen:
    """as many vectors as they are wide, and as many sequences, so that a wrong axis still fits"""
    n = whole(4, 8, seed="n")
    return {"residual": rank_residual(sequence_of_vectors(n, n, n))}


@exercise.property
def equal_rows(rank_residual: Any) -> Seen:
    """rows that are all equal

    Where all rows are equal nothing is left: the residual is 0.
    """
    row = integers(1, 9, 1, 6, seed="row").float()
    return {"residual": rank_residual(row.expand(4, 6))}


usual(exercise, some_sequences)


def mean_row(x: Tensor) -> Tensor:
    return x.mean(-2, keepdim=True)


def frobenius(x: Tensor) -> Tensor:
    return x.square().sum((-2, -1)).sqrt()


def length_of_x(x: Tensor, middle: Tensor, norm: Any) -> Tensor:
    return norm(x)


def divided(rest: Tensor, whole_length: Tensor) -> Tensor:
    return rest / whole_length


@exercise.assembled
def residual_in_steps(
    x: Tensor,
    *,
    centre: Any = mean_row,
    norm: Any = frobenius,
    beside: Any = length_of_x,
    compare: Any = divided,
) -> Tensor:
    middle = centre(x)
    return compare(norm(x - middle), beside(x, middle, norm))


@exercise.instead_of("centre")
def mean_of_each_row(x: Tensor) -> Tensor:
    """You subtract from each vector the mean of its own components.

    As a layer norm does. Here it is the mean row: the mean of all vectors, component by component.
    """
    return x.mean(-1, keepdim=True)


@exercise.instead_of("centre")
def one_mean_for_all(x: Tensor) -> Tensor:
    """You subtract one number, the mean of all entries.

    Each component has a mean of its own: the mean row is a vector.
    """
    return x.mean((-2, -1), keepdim=True)


@exercise.instead_of("centre")
def first_row_subtracted(x: Tensor) -> Tensor:
    """You subtract the first row.

    The first row is as good a guess as any other. The mean row is the nearest to all of them.
    """
    return x[..., :1, :]


@exercise.instead_of("centre")
def mean_over_the_batch(x: Tensor) -> Tensor:
    """You take the mean along the first dimension.

    That is the batch as soon as there is one. The rows of a sequence are the last dimension but one.
    """
    return x.mean(0, keepdim=True)


@exercise.instead_of("norm")
def root_forgotten(x: Tensor) -> Tensor:
    """You compare squared lengths: the root is missing.

    Then a residual of 0.1 looks like 0.01.
    """
    return x.square().sum((-2, -1))


@exercise.instead_of("norm")
def absolute_values(x: Tensor) -> Tensor:
    """You add up absolute values; it should be squares.

    A Frobenius norm is Euclid's length of all entries together.
    """
    return x.abs().sum((-2, -1))


@exercise.instead_of("norm")
def largest_singular_value(x: Tensor) -> Tensor:
    """You use the spectral norm: the largest singular value.

    `matrix_norm(x, 2)` is that. The Frobenius norm counts all of them, and is `matrix_norm`'s default.
    """
    return torch.linalg.matrix_norm(x, 2)


@exercise.instead_of("norm")
def between_two_norms(x: Tensor) -> Tensor:
    """You use the root of the 1-norm times the ∞-norm, as the paper on rank collapse does.

    Its theorem is about that one. Here the Frobenius norm is asked for, which looks at all entries alike.
    """
    return (torch.linalg.matrix_norm(x, 1) * torch.linalg.matrix_norm(x, torch.inf)).sqrt()


@exercise.instead_of("norm")
def everything_in_one(x: Tensor) -> Tensor:
    """You take the length of the whole batch together.

    Each sequence has a residual of its own: (...).
    """
    return x.norm()


@exercise.instead_of("norm")
def length_of_each_row(x: Tensor) -> Tensor:
    """You give a number for each vector.

    The length is that of the whole matrix: one number for each sequence.
    """
    return x.norm(dim=-1)


@exercise.instead_of("beside")
def not_compared(x: Tensor, middle: Tensor, norm: Any) -> Any:
    """You do not divide by the length of x.

    Then vectors that merely shrink look as if they became equal.
    """
    return 1.0


@exercise.instead_of("beside")
def beside_the_mean(x: Tensor, middle: Tensor, norm: Any) -> Tensor:
    """You divide by the length of what was subtracted, the mean row in every place.

    It is divided by the length of x, so that the result lies between 0 and 1.
    """
    return norm(middle.expand(x.shape))


@exercise.instead_of("compare")
def upside_down(rest: Tensor, whole_length: Tensor) -> Tensor:
    """Your fraction is upside down.

    What is left stands above, the length of x below.
    """
    return whole_length / rest


@exercise.instead_of("compare")
def how_equal_they_are(rest: Tensor, whole_length: Tensor) -> Tensor:
    """You return how equal the vectors are: 1 minus the residual.

    The residual is 0 where all are equal.
    """
    return 1 - rest / whole_length


@exercise.misconception
def mean_of_the_rows_residuals(x: Tensor) -> Tensor:
    """You average over the vectors, each with its own residual.

    One length of all that is left, divided by one length of all of x: a short vector counts less.
    """
    return ((x - mean_row(x)).norm(dim=-1) / x.norm(dim=-1)).mean(-1)


@exercise.misconception
def squares_subtracted(x: Tensor) -> Tensor:
    """You subtract the squared lengths, ‖x‖² - seq·‖mean‖², and lose the digits where the rows are nearly equal.

    A residual of 1e-3 is a difference in the sixth digit of the squares, and float32 has seven. Subtract the rows
    first.
    """
    return (1 - x.shape[-2] * frobenius(mean_row(x)) ** 2 / frobenius(x) ** 2).clamp(min=0).sqrt()


squeezes(exercise)
unpacks(exercise, "x", "batch", "seq", "d")
