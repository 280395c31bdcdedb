"""The exercise `layer_norm`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import normal, number
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import BATCH_NORM, LAYER_NORM, RMS_NORM
from qkv.exercises.norm.shared import biased, gains, mean_of, ones_in_turn, root, shifts
from qkv.model.norm import layer_norm

exercise = Exercise(
    layer_norm,
    section="Layer norm, forward",
    minutes=10,
    difficulty=1,
    why="It keeps every vector at one scale, whatever the layers before it do.",
    hints=[
        "Take one vector and a pencil: what are its mean and its variance? What do you do with each?",
        "Mean and variance belong to a vector: both are taken over the last dimension. Keep it, and they broadcast.",
        "The variance is the mean of the squared deviations (divide by d, not by d - 1), and eps goes under the root.",
    ],
    forbid=[LAYER_NORM, BATCH_NORM, RMS_NORM],
)


def vectors() -> tuple[Tensor, Tensor, Tensor]:
    x = normal(2, 3, 5, seed="x", std=2.0)
    x[1, 2] = 1.5  # nothing varies here: neither value nor gradient may become NaN
    return x, gains(5), shifts(5)


def vectors_of_one_shape() -> tuple[Tensor, ...]:
    return normal(6, seed="x"), gains(6), shifts(6)


@exercise.probe
def a_batch_of_vectors(layer_norm: Any) -> Seen:
    """a batch of 2 × 3 vectors of five components, the last of them constant"""
    return {"normalised": layer_norm(*vectors())}


@exercise.probe
def sizes_of_one(layer_norm: Any) -> Seen:
    """vectors in shapes that have sizes of 1"""
    return {
        f"normalised, shape {shape}": layer_norm(normal(*shape, seed="x"), gains(shape[-1]), shifts(shape[-1]))
        for shape in ones_in_turn("layer")
    }


@exercise.probe
def a_single_vector(layer_norm: Any) -> Seen:
    """one vector of seven components, without a batch dimension"""
    return {"normalised": layer_norm(normal(7, seed="x", mean=3.0), gains(7), shifts(7))}


@exercise.probe
def as_many_vectors_as_components(layer_norm: Any) -> Seen:
    """four vectors of four components, so that a wrong axis still fits"""
    return {"normalised": layer_norm(normal(4, 4, seed="x"), gains(4), shifts(4))}


@exercise.probe
def a_large_mean(layer_norm: Any) -> Seen:
    """vectors with a mean of 100 and a deviation of 1"""
    return {"normalised": layer_norm(normal(3, 64, seed="x", mean=100.0), gains(64), torch.zeros(64))}


@exercise.probe
def a_mean_far_above_the_deviation(layer_norm: Any) -> Seen:
    """vectors with a mean of 100 and a deviation of 0.1"""
    # Single components are as far off as float32 stores the input. Their deviation is not: it should be 1.
    found = layer_norm(normal(5, 64, seed="x", mean=100.0, std=0.1), torch.ones(64), torch.zeros(64))
    return {"deviation of the result": found.std(-1, unbiased=False)}


@exercise.probe
def small_deviations(layer_norm: Any) -> Seen:
    """vectors so small that eps decides"""
    return {"normalised": layer_norm(normal(3, 6, seed="x", std=3e-3), torch.ones(6), torch.zeros(6))}


@exercise.probe
def another_eps(layer_norm: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return {"normalised": layer_norm(*vectors(), eps=number(0.3, 0.9, seed="eps"))}


usual(exercise, vectors, alike=vectors_of_one_shape)


@exercise.assembled
def layer_norm_in_steps(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    eps: float = 1e-5,
    *,
    centre: Any = lambda x: x - mean_of(x),
    spread: Any = biased,
    divisor: Any = root,
) -> Tensor:
    return gamma * centre(x) / divisor(spread(x), eps) + beta


@exercise.instead_of("spread")
def unbiased_variance(x: Tensor) -> Tensor:
    """You divide the sum of squares by d - 1: the unbiased variance.

    torch's `var` does so unless told otherwise. A norm describes the numbers that it has, it does not estimate a
    population.
    """
    return x.var(-1, keepdim=True)


@exercise.instead_of("spread")
def variance_without_digits(x: Tensor) -> Tensor:
    """You compute the variance as the mean of the squares minus the square of the mean.

    For a mean of 100 both are near 10,000 and float32 keeps about seven digits: their difference has lost most of
    its own. Subtract the mean first.
    """
    return x.square().mean(-1, keepdim=True) - mean_of(x).square()


@exercise.instead_of("divisor")
def eps_beside_the_root(variance: Tensor, eps: float) -> Tensor:
    """You add eps after the square root.

    Under the root it sets the smallest deviation to √eps, about 0.003; beside it to eps itself, 300 times less.
    """
    return variance.sqrt() + eps


@exercise.instead_of("divisor")
def eps_forgotten(variance: Tensor, eps: float) -> Tensor:
    """You leave eps out.

    A vector of equal numbers is then divided by 0, and a nearly constant one is blown up to full size, noise and all.
    """
    return variance.sqrt()


@exercise.instead_of("divisor")
def divided_by_the_variance(variance: Tensor, eps: float) -> Tensor:
    """You divide by the variance; the square root is missing.

    Dividing by the standard deviation makes the deviation 1. Dividing by the variance makes it 1/σ.
    """
    return variance + eps


@exercise.instead_of("divisor")
def squared_instead_of_rooted(variance: Tensor, eps: float) -> Tensor:
    """You divide by the square of the variance, eps included; its root is asked for.

    A power of 2 where 1/2 belongs: you divide by the fourth power of the deviation, and an x twice as large gives an
    eighth of the result.
    """
    return (variance + eps) ** 2


@exercise.instead_of("divisor")
def root_of_the_deviation(variance: Tensor, eps: float) -> Tensor:
    """You take the root of the deviation, which is a root already.

    The variance has one root on the way to the deviation. With a second one, the result's deviation is √σ instead of 1.
    """
    return (variance.sqrt() + eps).sqrt()


@exercise.instead_of("centre")
def not_centred(x: Tensor) -> Tensor:
    """You do not subtract the mean.

    The result keeps its offset. (A norm without centring exists, the RMS norm, but that one divides by something else.)
    """
    return x


@exercise.misconception
def over_the_batch(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are taken over the first dimension, across vectors.

    That is batch norm. Layer norm looks at one vector at a time: no vector's result may depend on its neighbours.
    """
    centred = x - x.mean(0, keepdim=True)
    return gamma * centred / (centred.square().mean(0, keepdim=True) + eps).sqrt() + beta


@exercise.misconception
def over_everything(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You take one mean and one variance for the whole tensor.

    Each vector is normalised by its own; otherwise a loud vector quiets all others.
    """
    return gamma * (x - x.mean()) / (x.var(unbiased=False) + eps).sqrt() + beta


@exercise.misconception
def gain_and_shift_forgotten(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You normalise, but gamma and beta are not used.

    They let the network choose another mean and deviation where it needs them.
    """
    return layer_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps)


@exercise.misconception
def shifted_before_the_gain(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You add beta before you multiply by gamma.

    The shift is then stretched as well. Multiply first, add afterwards.
    """
    return gamma * (layer_norm(x, torch.ones_like(gamma), torch.zeros_like(beta), eps) + beta)


@exercise.misconception
def gain_and_shift_confused(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """You multiply by beta and add gamma.

    gamma is the gain, around 1, and multiplies; beta is the shift, around 0, and is added.
    """
    return layer_norm(x, beta, gamma, eps)


@exercise.misconception
def eps_fixed(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your eps is always 1e-5, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same: models differ in it.
    """
    return layer_norm(x, gamma, beta)


@exercise.misconception
def over_the_second_dimension(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-5) -> Tensor:
    """Your mean and variance are taken over the second dimension, which is the last one only in a batch of vectors.

    `...` may be none, one or several dimensions. The components are always in the last: -1.
    """
    centred = x - x.mean(1, keepdim=True)
    return gamma * centred / (centred.square().mean(1, keepdim=True) + eps).sqrt() + beta


squeezes(exercise)
unpacks(exercise, "x", "batch", "d")
