"""The exercise `batch_norm`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import distinct, normal, number
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import BATCH_NORM
from qkv.exercises.norm.layer_norm import over_everything
from qkv.exercises.norm.shared import gains, shifts
from qkv.model.norm import batch_norm, layer_norm

exercise = Exercise(
    batch_norm,
    section="Batch norm",
    minutes=15,
    difficulty=2,
    why="The same formula over another axis: here examples of a batch change one another.",
    hints=[
        "Layer norm takes a row at a time, batch norm a column: which dimension is the batch?",
        "In training mode the statistics are those of this very batch; no running averages.",
        "The variance is biased here as well: divide by the size of the batch.",
    ],
    forbid=[BATCH_NORM],
)


def a_batch(d: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    return normal(6, d, seed="x", std=2.0, mean=1.0), gains(d), shifts(d)


@exercise.probe
def six_vectors(batch_norm: Any) -> Seen:
    """a batch of six vectors of four components"""
    return {"normalised": batch_norm(*a_batch())}


@exercise.probe
def square_batch(batch_norm: Any) -> Seen:
    """five vectors of five components, so that a wrong axis still fits"""
    return {"normalised": batch_norm(normal(5, 5, seed="x"), gains(5), shifts(5))}


@exercise.probe
def batches_with_sizes_of_one(batch_norm: Any) -> Seen:
    """a batch of one vector, vectors of one component, and both"""
    size, d = distinct(2, 9, 2, seed="sizes")
    return {
        f"normalised, shape {shape}": batch_norm(normal(*shape, seed="x"), gains(shape[1]), shifts(shape[1]))
        for shape in [(1, d), (size, 1), (1, 1)]
    }


@exercise.probe
def nearly_constant(batch_norm: Any) -> Seen:
    """components so nearly constant that eps decides"""
    return {"normalised": batch_norm(normal(7, 3, seed="x", std=3e-3), torch.ones(3), torch.zeros(3))}


@exercise.probe
def another_eps_here(batch_norm: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return {"normalised": batch_norm(*a_batch(), eps=number(0.3, 0.9, seed="eps"))}


usual(exercise, lambda: a_batch(d=9))  # of so many shifts hardly ever all have one sign


@exercise.misconception
def each_vector_by_itself(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise each vector by itself.

    That is layer norm. Batch norm gives each *component* mean 0 over the batch, so every vector depends on the others.
    """
    return layer_norm(x, gamma, beta, eps)


@exercise.misconception
def one_statistic_for_all(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You take one mean and one variance for the whole batch.

    Each component has its own: they may live on very different scales.
    """
    return over_everything(x, gamma, beta, eps)


@exercise.misconception
def unbiased_over_the_batch(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide the sum of squares by batch - 1.

    In training mode batch norm uses the biased variance. (torch keeps the unbiased one for its running average, and
    for that alone.)
    """
    centred = x - x.mean(0)
    return gamma * centred / (centred.square().sum(0) / (len(x) - 1) + eps).sqrt() + beta


@exercise.misconception
def eps_after_the_root(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You add eps after the square root.

    Under the root it matters as soon as σ comes near 0.003; beside the root only at 0.00001.
    """
    return gamma * (x - x.mean(0)) / (x.var(0, unbiased=False).sqrt() + eps) + beta


@exercise.misconception
def variance_instead_of_deviation(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide by the variance; the square root is missing.

    Then a component with a large spread becomes too small, one with a small spread too large.
    """
    return gamma * (x - x.mean(0)) / (x.var(0, unbiased=False) + eps) + beta


@exercise.misconception
def gain_and_shift_unused(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise, but gamma and beta are not used.

    They belong to the layer: after normalising, each component is stretched and shifted.
    """
    return batch_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps)


@exercise.misconception
def eps_left_out(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You leave eps out.

    A component that is the same in the whole batch, a dead unit say, is then divided by 0; and so is a batch of one.
    """
    return gamma * (x - x.mean(0)) / x.var(0, unbiased=False).sqrt() + beta


@exercise.misconception
def mean_kept(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide by the deviation, but do not subtract the mean.

    Each component keeps its offset. After batch norm it has the mean that beta says, and no other.
    """
    return gamma * x / (x.var(0, unbiased=False) + eps).sqrt() + beta


@exercise.misconception
def shifted_before_the_stretch(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You add beta before you multiply by gamma.

    The shift is then stretched as well. Multiply first, add afterwards.
    """
    return gamma * (batch_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps) + beta)


@exercise.misconception
def stretched_before_normalising(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You stretch and shift x first and normalise it afterwards.

    Normalising undoes both: only the sign of gamma is left. Gain and shift come last.
    """
    return batch_norm(gamma * x + beta, torch.ones_like(gamma), torch.zeros_like(beta), eps)


@exercise.misconception
def squared_where_a_root_belongs(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You divide by the square of the variance, eps included; its root is asked for.

    A power of 2 where 1/2 belongs: you divide by the fourth power of the deviation, and an x twice as large gives an
    eighth of the result.
    """
    return gamma * (x - x.mean(0)) / (x.var(0, unbiased=False) + eps) ** 2 + beta


@exercise.misconception
def eps_always_the_same(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same: models differ in it.
    """
    return batch_norm(x, gamma, beta)


squeezes(exercise)
