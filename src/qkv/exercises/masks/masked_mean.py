"""The exercise `masked_mean`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, integers, normal
from proctor.inside.properties import gradients, usual
from proctor.inside.situations import Seen
from qkv.exercises.masks.shared import padded
from qkv.model.masks import (
    masked_mean,
    padding_mask,
    zero_padding,
)

exercise = Exercise(
    masked_mean,
    section="Pooling over padding",
    minutes=10,
    difficulty=1,
    why="An average over real words only; with the filling in it, long batches would change short sentences.",
    hints=[
        "A mean is a sum divided by a count. Which of the two does padding spoil? Both?",
        "Zero the padding, sum over positions, and divide: by how many?",
        "A length of 0 gives 0/0. The sum is 0 already; which divisor keeps it 0?",
    ],
)


@exercise.probe
def three_means(masked_mean: Any) -> Seen:
    """sequences of different lengths in a batch wider than the longest"""
    return {"means": masked_mean(normal(4, 6, 3, seed="x"), torch.tensor(distinct(1, 6, 4, seed="lengths")))}


@exercise.probe
def an_empty_sequence(masked_mean: Any) -> Seen:
    """an empty sequence beside full ones"""
    return {"means": masked_mean(normal(3, 4, 2, seed="x"), torch.tensor([4, 0, 3]))}


@exercise.probe
def loud_padding(masked_mean: Any) -> Seen:
    """padding that holds large numbers"""
    x = normal(2, 6, 3, seed="x")
    x[0, 2:], x[1, 5:] = 1e4, -1e4
    return {"means": masked_mean(x, torch.tensor([2, 5]))}


@exercise.probe
def equal_sizes(masked_mean: Any) -> Seen:
    """a batch in which every size is 4, so that a wrong axis still fits"""
    return {"means": masked_mean(normal(4, 4, 4, seed="x"), torch.tensor(distinct(1, 5, 4, seed="square")))}


@exercise.probe
def sizes_of_one_to_average(masked_mean: Any) -> Seen:
    """a single sequence, sequences of a single position, vectors of a single number"""
    return {
        "means of one sequence": masked_mean(normal(1, 6, 3, seed="alone"), integers(2, 6, 1, seed="one")),
        "means of one position": masked_mean(normal(4, 1, 3, seed="short"), torch.tensor([1, 0, 1, 0])),
        "means of one number": masked_mean(normal(3, 5, 1, seed="thin"), torch.tensor([3, 0, 5])),
        "means of one of each": masked_mean(normal(1, 1, 1, seed="least"), torch.tensor([1])),
    }


@exercise.probe
def means_of_a_full_batch(masked_mean: Any) -> Seen:
    """sequences without any padding"""
    return {"means": masked_mean(normal(3, 4, 2, seed="full"), torch.tensor([4, 4, 4]))}


exercise.probe(gradients(padded))


usual(exercise, padded, without=["gradients"])


def sum_of_real(x: Tensor, lengths: Tensor) -> Tensor:
    return zero_padding(x, lengths).sum(1)


def number_of_real(x: Tensor, lengths: Tensor) -> Tensor:
    return lengths.clamp(min=1).unsqueeze(-1)


@exercise.assembled
def pooling_in_steps(x: Tensor, lengths: Tensor, *, total: Any = sum_of_real, count: Any = number_of_real) -> Tensor:
    return total(x, lengths) / count(x, lengths)


@exercise.misconception
def padding_averaged_too(x: Tensor, lengths: Tensor) -> Tensor:
    """You average over all positions, padding included.

    The result then depends on how much padding the batch happened to need.
    """
    return x.mean(1)


@exercise.instead_of("count")
def divided_by_the_width(x: Tensor, lengths: Tensor) -> Any:
    """You zero the padding, but divide by the width of the batch.

    A short sequence in a wide batch is then shrunk towards 0. Divide by what was summed.
    """
    return x.shape[1]


@exercise.instead_of("count")
def divided_by_zero(x: Tensor, lengths: Tensor) -> Any:
    """An empty sequence gives 0/0, which is NaN.

    One NaN in a batch spoils the gradient of all. The mean of nothing is defined as 0 here.
    """
    return lengths.unsqueeze(-1)


@exercise.instead_of("count")
def summed_only(x: Tensor, lengths: Tensor) -> Any:
    """You sum the real vectors but do not divide.

    A long sequence then counts for more than a short one.
    """
    return 1


@exercise.instead_of("total")
def not_zeroed(x: Tensor, lengths: Tensor) -> Tensor:
    """You divide by the length, but the padding is still in the sum.

    The count is right, the sum is not: zero the padding first.
    """
    return x.sum(1)


@exercise.instead_of("count")
def a_small_number_added(x: Tensor, lengths: Tensor) -> Any:
    """You divide by the length plus one.

    That avoids 0/0 but makes every other mean too small.
    """
    return (lengths + 1).unsqueeze(-1)


@exercise.misconception
def repaired_mean(x: Tensor, lengths: Tensor) -> Tensor:
    """Your values are right, but the NaN of the empty sequence is replaced afterwards, and its gradient is not finite.

    Backward, the division by 0 is still there: 0 times inf is NaN. Divide by something that is never 0.
    """
    real = padding_mask(lengths, x.shape[1]).transpose(-2, -1)
    return ((x * real).sum(1) / lengths.unsqueeze(-1)).nan_to_num(0.0)


@exercise.misconception
def averaged_over_features(x: Tensor, lengths: Tensor) -> Tensor:
    """You average over the features, not over the positions.

    The result should keep d_model numbers for each sequence; the positions are what disappears.
    """
    return zero_padding(x, lengths).sum(2) / lengths.clamp(min=1).unsqueeze(-1)


@exercise.instead_of("count")
def count_of_the_whole_batch(x: Tensor, lengths: Tensor) -> Any:
    """You divide every sum by the number of real tokens of the whole batch.

    Each sequence has a count of its own: count along the positions, not over everything.
    """
    return lengths.sum()


@exercise.misconception
def one_mean_for_the_whole_batch(x: Tensor, lengths: Tensor) -> Tensor:
    """You average the real vectors of all sequences together: one mean for the whole batch.

    Each sequence should have its own, so the result is (batch, d_model).
    """
    return x[padding_mask(lengths, x.shape[1])[:, 0]].mean(0)


@exercise.misconception
def the_same_mean_for_every_sequence(x: Tensor, lengths: Tensor) -> Tensor:
    """You average the real vectors of all sequences together, and every sequence gets that mean.

    Sequences of a batch know nothing of each other: each should have its own mean.
    """
    return one_mean_for_the_whole_batch(x, lengths).expand(x.shape[0], -1)


@exercise.instead_of("total")
def padding_in_front(x: Tensor, lengths: Tensor) -> Tensor:
    """You sum the last positions, as if padding came before the tokens.

    Here sequences start at position 0 and padding follows them.
    """
    return zero_padding(x.flip(1), lengths).sum(1)


@exercise.instead_of("count")
def divided_by_the_root(x: Tensor, lengths: Tensor) -> Any:
    """You divide by the square root of the length.

    Some code pools that way, to keep the spread of a sum. A mean is divided by the length itself.
    """
    return number_of_real(x, lengths).sqrt().to(x.dtype)


@exercise.misconception
def no_gradient_for_vectors(x: Tensor, lengths: Tensor) -> Tensor:
    """Your values are right, but no gradient comes back to x.

    Something on the way cuts the graph: `.detach()`, `.data`, `.tolist()`, `torch.tensor(…)` of a tensor,
    `torch.no_grad()`.
    """
    return masked_mean(x.detach(), lengths)


@exercise.misconception
def written_into_x(x: Tensor, lengths: Tensor) -> Tensor:
    """You write zeros into the x that you were given.

    The caller still needs it, and where its gradient is wanted torch refuses. Make a new tensor.
    """
    x[~padding_mask(lengths, x.shape[1])[:, 0]] = 0
    return masked_mean(x, lengths)


@exercise.misconception
def written_into_sequences_of_x(x: Tensor, lengths: Tensor) -> Tensor:
    """You write zeros into the sequences of the x that you were given.

    A slice such as x[b, n:] is a window on x, and the caller still needs what is there. Where its gradient is wanted
    torch refuses. Make a new tensor.
    """
    for b, length in enumerate(lengths.tolist()):
        x[b, length:] = 0
    return masked_mean(x, lengths)


squeezes(exercise)
