"""The exercise `gelu`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes
from proctor.inside.inputs import normal, uniform
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.forbidden import GELU
from qkv.model.blocks import gelu

exercise = Exercise(
    gelu,
    section="GELU",
    minutes=10,
    difficulty=1,
    why="The activation of BERT and GPT-2; its approximation by tanh differs from it by less than 0.001.",
    hints=[
        "x times the probability that a standard normal number is below x. What is that at 0? At 100? At -100?",
        "The distribution function of the normal is written with the error function: `torch.erf`.",
        "erf runs from -1 to 1, a probability from 0 to 1; and its scale differs from the normal's by a factor √2.",
    ],
    forbid=[GELU],
)


def numbers() -> tuple[Tensor]:
    return (normal(3, 5, seed="x", std=2.0),)


@exercise.probe
def some_numbers(gelu: Any) -> Seen:
    """3 × 5 numbers"""
    return {"gated": gelu(*numbers())}


@exercise.probe
def far_out(gelu: Any) -> Seen:
    """large and tiny numbers of both signs, and 0"""
    large, tiny = uniform(3, seed="large", low=5.0, high=30.0), uniform(3, seed="tiny", high=1e-3)
    return {"gated": gelu(torch.cat([-large, -tiny, torch.zeros(1), tiny, large])), "tiny gated": gelu(tiny.clone())}


@exercise.probe
def where_an_approximation_shows(gelu: Any) -> Seen:
    """numbers between -3 and -2, in float32 and float64"""
    x = [uniform(4, 6, seed="x", low=-3.0, high=-2.0) for _ in range(2)]  # small results, so little is let pass
    return {"gated": gelu(x[0]), "gated in float64": gelu(x[1].double())}


@exercise.probe
def of_any_shape(gelu: Any) -> Seen:
    """one number, without and with dimensions, and numbers in three dimensions"""
    shapes: list[tuple[int, ...]] = [(), (1,), (1, 4), (4, 1), (2, 1, 3)]
    return {f"gated, shape {shape}": gelu(uniform(*shape, seed="x", low=-1.5, high=3.0)) for shape in shapes}


usual(exercise, numbers)


@exercise.misconception
def tanh_approximation(x: Tensor) -> Tensor:
    """You use the tanh approximation.

    It is off by up to 0.0005. Old code used it because erf was slow; here the exact form is asked for.
    """
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


@exercise.misconception
def sigmoid_approximation(x: Tensor) -> Tensor:
    """You gate with the sigmoid of 1.702·x.

    It is a rough stand-in for the normal distribution function, off by up to 0.02.
    """
    return x * torch.sigmoid(1.702 * x)


@exercise.misconception
def silu(x: Tensor) -> Tensor:
    """You gate with the plain sigmoid: that is SiLU, also called swish.

    A good activation, but another one. GELU gates with the normal distribution function.
    """
    return x * torch.sigmoid(x)


@exercise.misconception
def density(x: Tensor) -> Tensor:
    """You gate with the density φ of the normal distribution; it should be its distribution function Φ.

    The density is a hill that falls off to both sides, so large numbers would not come through. Φ(x) is the area under
    it up to x, and grows from 0 to 1.
    """
    return x * torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)


@exercise.misconception
def root_of_two_forgotten(x: Tensor) -> Tensor:
    """You call erf without dividing by √2.

    erf belongs to a normal of deviation 1/√2. The standard normal's distribution function is (1 + erf(x/√2))/2.
    """
    return x * (1 + torch.erf(x)) / 2


@exercise.misconception
def gate_from_minus_one(x: Tensor) -> Tensor:
    """Your gate runs from -1 to 1 instead of from 0 to 1.

    Negative numbers then come back positive. Shift and halve erf to make a probability of it.
    """
    return x * torch.erf(x / math.sqrt(2))


@exercise.misconception
def relu(x: Tensor) -> Tensor:
    """You cut negative numbers off: that is ReLU.

    GELU lets a little of them through, and bends smoothly where ReLU has a corner.
    """
    return x.clamp(min=0)


@exercise.misconception
def not_halved(x: Tensor) -> Tensor:
    """Your result is twice as large as it should be.

    1 + erf runs from 0 to 2; half of it is a probability.
    """
    return 2 * gelu(x)


@exercise.misconception
def gate_alone(x: Tensor) -> Tensor:
    """You return the gate, not the gated number.

    Φ(x) says how much passes; what passes is x.
    """
    return (1 + torch.erf(x / math.sqrt(2))) / 2


@exercise.misconception
def divided_by_two_inside(x: Tensor) -> Tensor:
    """You divide by 2 inside of erf; it should be the root of 2.

    The variance of the standard normal is 1, that of the bell curve behind erf is 1/2: deviations differ by √2.
    """
    return x * (1 + torch.erf(x / 2)) / 2


@exercise.misconception
def multiplied_by_the_root(x: Tensor) -> Tensor:
    """You multiply by √2 inside of erf instead of dividing.

    The gate then closes twice as fast as it should: at x = 1 it lets 98 % pass where Φ(1) is 84 %.
    """
    return x * (1 + torch.erf(x * math.sqrt(2))) / 2


squeezes(exercise)
