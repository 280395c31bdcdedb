"""The exercise `rms_norm`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import normal, number
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import RMS_NORM
from qkv.exercises.norm.shared import gains, mean_of, ones_in_turn
from qkv.model.norm import rms_norm

exercise = Exercise(
    rms_norm,
    section="RMS norm",
    minutes=5,
    difficulty=1,
    why="LayerNorm without the mean and the shift; many large models of today do without both.",
    hints=[
        "Root, mean, square: read the name from right to left.",
        "Nothing is centred and nothing is shifted: there is no mean to subtract and no beta to add.",
        "It is the mean of the squares, not their sum, and eps goes under the root.",
    ],
    forbid=[RMS_NORM],
)


def vectors_and_gains() -> tuple[Tensor, Tensor]:
    return normal(2, 3, 5, seed="x", std=2.0, mean=1.0), gains(5)


@exercise.probe
def a_batch_off_centre(rms_norm: Any) -> Seen:
    """2 × 3 vectors of five components that do not average to 0"""
    return {"normalised": rms_norm(*vectors_and_gains())}


@exercise.probe
def one_vector_alone(rms_norm: Any) -> Seen:
    """one vector of seven components"""
    return {"normalised": rms_norm(normal(7, seed="x"), gains(7))}


@exercise.probe
def a_square_batch(rms_norm: Any) -> Seen:
    """four vectors of four components, so that a wrong axis still fits"""
    return {"normalised": rms_norm(normal(4, 4, seed="x"), gains(4))}


@exercise.probe
def vectors_with_sizes_of_one(rms_norm: Any) -> Seen:
    """vectors in shapes that have sizes of 1"""
    return {
        f"normalised, shape {shape}": rms_norm(normal(*shape, seed="x"), gains(shape[-1]))
        for shape in ones_in_turn("rms")
    }


@exercise.probe
def tiny_vectors(rms_norm: Any) -> Seen:
    """vectors so small that eps decides"""
    return {"normalised": rms_norm(normal(3, 6, seed="x", std=1e-3), torch.ones(6))}


@exercise.probe
def a_large_eps(rms_norm: Any) -> Seen:
    """an eps between 0.3 and 0.9"""
    return {"normalised": rms_norm(*vectors_and_gains(), eps=number(0.3, 0.9, seed="eps"))}


def vector_and_gain_of_one_shape() -> tuple[Tensor, Tensor]:
    return normal(6, seed="x"), gains(6)


usual(exercise, vectors_and_gains, alike=vector_and_gain_of_one_shape)


@exercise.misconception
def centred_first(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You subtract the mean first.

    That is layer norm without its shift. RMS norm saves that step: dividing is what keeps the network calm.
    """
    return rms_norm(x - mean_of(x), gamma, eps)


@exercise.misconception
def divided_by_the_length(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You divide by the length of the vector: the root of the *sum* of squares.

    Components then shrink as vectors grow wider. With the mean of the squares, their typical size is 1 at any width.
    """
    return gamma * x / (x.square().sum(-1, keepdim=True) + eps).sqrt()


@exercise.misconception
def eps_outside_the_root(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You add eps after the square root.

    Under the root it acts from an RMS of about 0.001 on, beside it from 0.000001.
    """
    return gamma * x / (x.square().mean(-1, keepdim=True).sqrt() + eps)


@exercise.misconception
def root_forgotten(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You divide by the mean square; the root is missing.

    A vector of twice the size should come out the same, not half as large.
    """
    return gamma * x / (x.square().mean(-1, keepdim=True) + eps)


@exercise.misconception
def absolute_mean(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You divide by the mean of the absolute values.

    It is a measure of size too, but another one: squares first, then the mean, then the root.
    """
    return gamma * x / (x.abs().mean(-1, keepdim=True) + eps)


@exercise.misconception
def gains_unused(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You normalise, but gamma is not used.

    Each component has a gain that is learned; multiply by it.
    """
    return rms_norm(x, torch.ones_like(gamma), eps)


@exercise.misconception
def over_all_vectors(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You take one root mean square for the whole tensor.

    Each vector is measured by itself, along the last dimension.
    """
    return gamma * x / (x.square().mean() + eps).sqrt()


@exercise.misconception
def no_eps_at_all(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You leave eps out.

    Some libraries scale the vector to the length √d and have no eps, or one so small that it never acts. Here it is
    an argument, and decides for very small vectors.
    """
    return gamma * x / x.square().mean(-1, keepdim=True).sqrt()


@exercise.misconception
def one_added_to_the_gain(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You multiply by 1 + gamma.

    Gemma's code does so, with gains that start at 0. Here gamma is the gain itself.
    """
    return rms_norm(x, 1 + gamma, eps)


@exercise.misconception
def across_the_vectors(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Your mean of the squares is taken over the first dimension, across vectors.

    No vector's result may depend on its neighbours: the mean is over the last dimension.
    """
    return gamma * x / (x.square().mean(0, keepdim=True) + eps).sqrt()


@exercise.misconception
def stretched_first(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You multiply by gamma before you normalise.

    The root mean square is then that of the stretched vector, and divides most of the gain away again.
    """
    return rms_norm(gamma * x, torch.ones_like(gamma), eps)


@exercise.misconception
def square_of_the_mean(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """You square the mean; it is the mean of the squares that is asked for.

    The mean of a vector may be near 0 however large its entries are. Square first, then average.
    """
    return gamma * x / (x.mean(-1, keepdim=True).square() + eps).sqrt()


@exercise.misconception
def eps_not_the_callers(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Your eps is always 1e-6, whatever eps the caller asks for.

    The argument has a default, and is an argument all the same: models differ in it.
    """
    return rms_norm(x, gamma)


@exercise.misconception
def along_the_second_dimension(x: Tensor, gamma: Tensor, eps: float = 1e-6) -> Tensor:
    """Your mean of the squares is taken over the second dimension, which is the last one only in a batch of vectors.

    `...` may be none, one or several dimensions. The components are always in the last: -1.
    """
    return gamma * x / (x.square().mean(1, keepdim=True) + eps).sqrt()


squeezes(exercise)
unpacks(exercise, "x", "batch", "d")
