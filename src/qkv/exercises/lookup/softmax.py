"""The exercise `softmax`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.inside.inputs import normal
from proctor.inside.properties import usual
from proctor.inside.situations import Seen, one_of_each
from qkv.exercises.forbidden import SOFTMAX
from qkv.exercises.lookup.shared import in_sixtyfourths
from qkv.model.lookup import softmax

exercise = Exercise(
    softmax,
    section="From scores to weights",
    minutes=10,
    difficulty=1,
    why="Every attention weight of this course is made by these lines, and thanks to the shift none of them overflows.",
    hints=[
        "What must be true of the weights, whatever the scores are? Two properties; write them down first.",
        "`exp` makes every number positive. What should each row then be divided by? Look at the shape of that "
        "divisor: does it still fit the scores, row by row?",
        "exp(1000) is inf, and inf/inf is NaN. Adding the same number to all scores of a row does not change its "
        "weights: which number keeps `exp` small?",
    ],
    forbid=[SOFTMAX],
)


def scores() -> tuple[Tensor, int]:
    return normal(2, 3, 5, seed="scores", std=2.0), -1


@exercise.probe
def along_the_last(softmax: Any) -> Seen:
    """two tables of 3 × 5 scores, softmax along the last dimension"""
    return {"weights": softmax(*scores())}


@exercise.probe
def along_the_first(softmax: Any) -> Seen:
    """a table of 4 × 6 scores, softmax along dimension 0"""
    return {"weights": softmax(normal(4, 6, seed="table", std=2.0), 0)}


@exercise.probe
def along_the_middle(softmax: Any) -> Seen:
    """scores of shape (2, 5, 3), softmax along dimension -2"""
    return {"weights": softmax(normal(2, 5, 3, seed="middle", std=2.0), -2)}


@exercise.probe
def of_a_square(softmax: Any) -> Seen:
    """a table of 5 × 5 scores, softmax along dimension 1: a lost dimension still fits here"""
    return {"weights": softmax(normal(5, 5, seed="square", std=2.0), 1)}


@exercise.probe
def of_one_row(softmax: Any) -> Seen:
    """a single row of seven scores, without a batch dimension"""
    return {"weights": softmax(normal(7, seed="row"), dim=0)}


@exercise.probe
def along_every_dimension(softmax: Any) -> Seen:
    """scores of shape (2, 3, 4, 5), softmax along each dimension, counted from the front and from the back"""
    return {f"weights along {dim}": softmax(normal(2, 3, 4, 5, seed="four", std=2.0), dim) for dim in range(-4, 4)}


@exercise.probe
def with_dimensions_of_one(softmax: Any) -> Seen:
    """scores of shape (1, 3, 4), (2, 1, 4) and (2, 3, 1), softmax along each dimension"""
    return {
        f"weights of {tuple(shape)} along {dim}": softmax(normal(*shape, seed="ones", std=2.0), dim)
        for _, shape in one_of_each(first=2, second=3, third=4)
        for dim in range(3)
    }


@exercise.probe
def of_rows_far_apart(softmax: Any) -> Seen:
    """three rows of scores: around 0, around 500, around -500"""
    return {"weights": softmax(normal(3, 5, seed="apart") + torch.tensor([[0.0], [500.0], [-500.0]]), -1)}


# float64, since logarithms of this size have no digits to spare in float32; whether it comes back is asked elsewhere
@exercise.probe
def of_huge_scores(softmax: Any) -> Seen:
    """scores around 10,000 and around -10,000, in float64"""
    near = in_sixtyfourths(normal(2, 6, seed="huge", dtype=torch.float64))
    return {"weights": softmax(near + torch.tensor([[1e4], [-1e4]], dtype=torch.float64), -1).double()}


def from_end_to_end_scores() -> Tensor:
    spread = torch.tensor([-1e4, 1e4, 0.0, 1e4, -1e4], dtype=torch.float64)
    return in_sixtyfourths(normal(3, 5, seed="spread", dtype=torch.float64)) + spread


@exercise.probe
def from_end_to_end(softmax: Any) -> Seen:
    """rows that reach from -10,000 to 10,000, in float64"""
    return {"weights": softmax(from_end_to_end_scores(), -1).double()}


def hidden_scores() -> Tensor:
    row = normal(2, 6, seed="hidden")
    row[0, 1], row[0, 4], row[1, 0] = -math.inf, -math.inf, -math.inf
    return row


@exercise.probe
def beside_minus_infinity(softmax: Any) -> Seen:
    """scores of -inf beside finite ones"""
    return {"weights": softmax(hidden_scores(), -1)}


usual(exercise, scores)


def gradient_of(softmax: Any, scores: Tensor) -> Seen:
    scores.requires_grad_()
    upstream = normal(*scores.shape, seed="upstream", dtype=scores.dtype)
    (gradient,) = torch.autograd.grad((softmax(scores, -1) * upstream).sum(), scores)
    return {"gradient of scores": gradient}


@exercise.property
def gradients_beside_minus_infinity(softmax: Any) -> Seen:
    """the gradient where some scores are -inf

    The weights are right but their gradient is not: beside a score of -inf it should stay finite. Look for inf - inf
    and 0 · inf on the way back.
    """
    return gradient_of(softmax, hidden_scores())


@exercise.property
def gradients_of_huge_scores(softmax: Any) -> Seen:
    """the gradient where scores reach from -10,000 to 10,000, in float64

    The weights are right but their gradient is not: for large scores it should stay finite as well. A value that
    overflowed and was replaced afterwards is gone in the forward pass, but not in the backward pass.
    """
    return gradient_of(softmax, from_end_to_end_scores())


def below_the_row_maximum(scores: Tensor, dim: int) -> Tensor:
    return scores - scores.amax(dim=dim, keepdim=True)


def by_the_row_sum(powers: Tensor, dim: int) -> Tensor:
    return powers / powers.sum(dim=dim, keepdim=True)


@exercise.assembled
def softmax_in_steps(
    scores: Tensor, dim: int, *, shift: Any = below_the_row_maximum, normalise: Any = by_the_row_sum
) -> Tensor:
    return normalise(shift(scores, dim).exp(), dim)


@exercise.instead_of("shift")
def overflows(scores: Tensor, dim: int) -> Tensor:
    """You exponentiate the scores as they are, and large scores overflow.

    exp(89) is already more than float32 can hold; inf divided by inf is NaN. Weights depend only on the differences
    between scores, so a row may be shifted first.
    """
    return scores


@exercise.instead_of("shift")
def shifted_by_the_global_maximum(scores: Tensor, dim: int) -> Tensor:
    """You subtract the largest score of the whole tensor, not of each row.

    A row that lies far below the global maximum then underflows: all its powers become 0, and 0/0 is NaN.
    """
    return scores - scores.max()


@exercise.instead_of("shift")
def shifted_by_the_mean(scores: Tensor, dim: int) -> Tensor:
    """You subtract the mean of each row, which does not keep its largest score small.

    A row that reaches from -10,000 to 10,000 has a mean near 0 and still overflows; a row with a score of -inf has the
    mean -inf.
    """
    return scores - scores.mean(dim=dim, keepdim=True)


@exercise.instead_of("shift")
def shifted_by_the_minimum(scores: Tensor, dim: int) -> Tensor:
    """You subtract the smallest score of each row, so all powers are at least 1, and the largest overflow.

    What has to stay small is the largest exponent. A row with a score of -inf, moreover, is moved by infinity.
    """
    return scores - scores.amin(dim=dim, keepdim=True)


@exercise.instead_of("shift")
def shifted_by_the_largest_magnitude(scores: Tensor, dim: int) -> Tensor:
    """You subtract the largest absolute value of each row.

    A row around -500 is then moved down to -1000, where all its powers are 0, and 0/0 is NaN. It is the largest score
    that should become 0, whatever its sign.
    """
    return scores - scores.abs().amax(dim=dim, keepdim=True)


@exercise.instead_of("shift")
def divided_by_the_maximum(scores: Tensor, dim: int) -> Tensor:
    """You divide the scores of a row by the largest of them, where it should be subtracted.

    A shift keeps the differences between scores, and only those decide the weights. A division changes them, and for
    negative scores turns their order round.
    """
    return scores / scores.amax(dim=dim, keepdim=True)


@exercise.instead_of("shift")
def clipped(scores: Tensor, dim: int) -> Tensor:
    """You clip the scores to a range in which `exp` does not overflow.

    Scores beyond the limit become equal, so their differences are lost, and with them the weights. A shift of the whole
    row keeps the differences.
    """
    return scores.clamp(-80, 80)


@exercise.instead_of("shift")
def maximum_without_keepdim(scores: Tensor, dim: int) -> Tensor:
    """Your maximum loses the dimension that it runs along.

    The tensor of maxima is then lined up with the wrong dimension of the scores: mostly that raises an error, and for a
    square table it silently subtracts another row's maximum.
    """
    return scores - scores.amax(dim=dim)


@exercise.instead_of("normalise")
def normalised_over_everything(powers: Tensor, dim: int) -> Tensor:
    """You divide by the sum over the whole tensor, so all weights together sum to 1.

    Each row is a decision of its own: the weights should sum to 1 along `dim`, for every row.
    """
    return powers / powers.sum()


@exercise.instead_of("normalise")
def sum_without_keepdim(powers: Tensor, dim: int) -> Tensor:
    """Your sum loses the dimension that it runs along.

    The tensor of sums is then lined up with the wrong dimension of the powers: mostly that raises an error, and for a
    square table it silently divides by another row's sum.
    """
    return powers / powers.sum(dim=dim)


@exercise.instead_of("normalise")
def not_normalised(powers: Tensor, dim: int) -> Tensor:
    """Your weights are positive but do not sum to 1.

    The powers are there, but they are no shares of a whole yet. Averaged with such weights, the values grow with the
    number of keys.
    """
    return powers


@exercise.instead_of("normalise")
def divided_by_the_length(powers: Tensor, dim: int) -> Tensor:
    """You divide the powers by the root of the sum of their squares.

    Then each row is a vector of length 1, but its weights sum to more than 1. An average asks for a sum of 1.
    """
    return powers / powers.norm(dim=dim, keepdim=True)


@exercise.misconception
def always_dimension_one(scores: Tensor, dim: int) -> Tensor:
    """You take the softmax along dimension 1, whatever `dim` says.

    In a table (batch, class) that is the right one. The caller decides which dimension it is, and a single row has no
    dimension 1 at all.
    """
    return softmax(scores, 1)


@exercise.misconception
def weights_squeezed(scores: Tensor, dim: int) -> Tensor:
    """You drop the dimensions of size 1 from the result.

    `squeeze()` takes away every such dimension, those of the caller included. The weights have the shape of the scores.
    """
    return softmax(scores, dim).squeeze()


@exercise.misconception
def base_of_two(scores: Tensor, dim: int) -> Tensor:
    """You take powers of 2 instead of powers of e.

    The weights are positive and sum to 1, but they are softer: a score that is higher by 1 counts 2 times as much, and
    by the definition e times.
    """
    return softmax(scores * math.log(2), dim)


@exercise.misconception
def always_the_last_dimension(scores: Tensor, dim: int) -> Tensor:
    """You take the softmax along the last dimension, whatever `dim` says.

    The caller decides which dimension the weights sum to 1 along; in attention it happens to be the last.
    """
    return softmax(scores, -1)


@exercise.misconception
def divided_without_exponential(scores: Tensor, dim: int) -> Tensor:
    """You divide the scores by their sum, without the exponential.

    Scores may be negative and may sum to 0, so this gives negative weights and divisions by zero.
    """
    return scores / scores.sum(dim=dim, keepdim=True)


@exercise.misconception
def logarithm_of_the_weights(scores: Tensor, dim: int) -> Tensor:
    """You return the logarithm of the weights.

    That is the log-softmax, which losses use. An average needs the weights themselves.
    """
    return below_the_row_maximum(scores, dim) - below_the_row_maximum(scores, dim).exp().sum(dim, keepdim=True).log()


@exercise.misconception
def sign_reversed(scores: Tensor, dim: int) -> Tensor:
    """Your largest score gets the smallest weight: a sign is reversed.

    A high score means a good match, and a good match should weigh more.
    """
    return softmax(-scores, dim)


@exercise.misconception
def hard_maximum(scores: Tensor, dim: int) -> Tensor:
    """You give all the weight to the largest score.

    That is the hard lookup: its gradient is zero almost everywhere, so nothing can be learned through it. The softmax
    gives every entry a share.
    """
    return torch.zeros_like(scores).scatter(dim, scores.argmax(dim=dim, keepdim=True), 1.0)


@exercise.misconception
def overflow_patched(scores: Tensor, dim: int) -> Tensor:
    """You let large scores overflow and replace the NaN afterwards.

    By then the weights are lost: a row whose NaN became 0 no longer sums to 1. The scores have to be made harmless
    before the exponential.
    """
    powers = scores.exp()
    return (powers / powers.sum(dim=dim, keepdim=True)).nan_to_num(0.0)
