"""The exercise `free_energy`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.forbid import Family
from proctor.inside.inputs import distinct, integers, normal, number, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.energy.shared import weighed_gradient
from qkv.exercises.forbidden import SOFTMAX
from qkv.model.energy import (
    free_energy,
)

LOG_SUM_EXP = Family.of("torch's own log-sum-exp", "logsumexp", "logaddexp", "logcumsumexp")


exercise = Exercise(
    free_energy,
    section="One number for many energies",
    minutes=10,
    difficulty=2,
    why="The one number behind every softmax: its gradient is the weights, and tiles of attention are merged by it.",
    hints=[
        "Low energies count most. What is the largest of the exponents -beta·E, and what if you take it out first?",
        "Σ exp(-beta·E) = exp(-beta·m) · Σ exp(-beta·(E - m)), whatever m is. Which m keeps every power at 1 or below?",
        "The logarithm makes a sum of the product. Divide by -beta, and m comes out as itself.",
    ],
    forbid=[SOFTMAX, LOG_SUM_EXP],
)


def some_energies() -> tuple[Any, ...]:
    return normal(*distinct(2, 8, 2, seed="sizes"), seed="energies", std=1.5), number(0.3, 3.0, seed="beta")


@exercise.probe
def rows_of_energies(free_energy: Any) -> Seen:
    """rows of energies at some beta"""
    return {"free energy": free_energy(*some_energies())}


@exercise.probe
def beta_left_out(free_energy: Any) -> Seen:
    """one row of energies, no leading dimension, `beta` left at its default"""
    return {"free energy": free_energy(normal(whole(3, 9, seed="n"), seed="energies", mean=7.0))}


@exercise.probe
def with_two_leading_dimensions(free_energy: Any) -> Seen:
    """two leading dimensions, rows of one energy, and a batch of one row"""
    a, b, n = distinct(2, 6, 3, seed="sizes")
    beta = number(1.5, 4.0, seed="beta")
    return {
        "free energy": free_energy(normal(a, b, n, seed="energies"), beta),
        "of one state": free_energy(normal(a, 1, seed="single"), beta),
        "of one row": free_energy(normal(1, n, seed="alone"), beta),
    }


@exercise.probe
def its_gradient(free_energy: Any) -> Seen:
    """the gradient, which is the weight of each state"""
    energies, beta = some_energies()
    return {"gradient": weighed_gradient(free_energy(energies.requires_grad_(), beta), energies)}


def huge() -> tuple[Tensor, float]:
    """Rows around 10,000, 0 and -10,000, of whole numbers, which float32 has exactly, as it has their products with
    this beta."""
    rows = torch.tensor([[10_000], [0], [-10_000]])
    return (rows + integers(-4, 5, 3, 6, seed="energies")).double(), 2.0 ** whole(-2, 1, seed="beta")


@exercise.probe
def huge_energies(free_energy: Any) -> Seen:
    """rows with energies around 10,000, around 0 and around -10,000"""
    energies, beta = huge()
    result = free_energy(energies.requires_grad_(), beta)
    return {"free energy": result, "gradient": weighed_gradient(result, energies)}


@exercise.probe
def far_apart(free_energy: Any) -> Seen:
    """energies that are 10,000 apart in one row"""
    energies, beta = huge()
    energies[:, ::2] += 10_000
    result = free_energy(energies.requires_grad_(), beta)
    return {"free energy": result, "gradient": weighed_gradient(result, energies)}


@exercise.probe
def states_that_cannot_be(free_energy: Any) -> Seen:
    """some energies of +inf beside finite ones"""
    energies, beta = normal(4, 5, seed="energies"), number(0.5, 2.0, seed="beta")
    energies[:, 1], energies[2:, 3] = math.inf, math.inf
    result = free_energy(energies.requires_grad_(), beta)
    return {"free energy": result, "gradient": weighed_gradient(result, energies)}


usual(exercise, some_energies)


def boltzmann_powers(energies: Tensor, lowest: Tensor, beta: float) -> Tensor:
    return torch.exp(-beta * (energies - lowest))


def sum_of_powers(powers: Tensor) -> Tensor:
    return powers.sum(-1)


def back_again(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    return lowest.squeeze(-1) - log_sum / beta


@exercise.assembled
def free_energy_in_steps(
    energies: Tensor,
    beta: float = 1.0,
    *,
    power: Any = boltzmann_powers,
    total: Any = sum_of_powers,
    finish: Any = back_again,
) -> Tensor:
    lowest = energies.amin(-1, keepdim=True)
    return finish(lowest, total(power(energies, lowest, beta)).log(), beta)


@exercise.misconception
def exponent_not_negative(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You exponentiate +beta·E, so high energies count most.

    A state is the likelier the lower its energy: the exponent is -beta·E.
    """
    return -free_energy(-energies, beta)


@exercise.misconception
def minus_forgotten(energies: Tensor, beta: float = 1.0) -> Tensor:
    """The minus before the logarithm is missing.

    A free energy lies a little below the lowest energy; yours is its negative.
    """
    return -free_energy(energies, beta)


@exercise.instead_of("total")
def averaged_powers(powers: Tensor) -> Tensor:
    """You take the mean of the powers, not their sum.

    Then the free energy would not fall when more states become possible. The number of states belongs into it.
    """
    return powers.mean(-1)


@exercise.instead_of("finish")
def not_divided_by_beta(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    """You do not divide the logarithm by beta.

    The exponents were multiplied by beta. Divided by it again, the result is an energy.
    """
    return beta * lowest.squeeze(-1) - log_sum


@exercise.instead_of("finish")
def multiplied_by_beta(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    """You multiply the logarithm by beta where you should divide.

    beta is an inverse temperature: 1/beta stands before the logarithm.
    """
    return lowest.squeeze(-1) - log_sum * beta


@exercise.instead_of("finish")
def shift_not_undone(lowest: Tensor, log_sum: Tensor, beta: float) -> Tensor:
    """You subtract the lowest energy before the exponential, and do not add it again.

    Then all rows look as if their lowest energy were 0.
    """
    return -log_sum / beta


@exercise.instead_of("power")
def beta_forgotten(energies: Tensor, lowest: Tensor, beta: float) -> Tensor:
    """You do not multiply the energies by beta before the exponential.

    beta says how sharply low energies are preferred: it belongs into the exponent.
    """
    return torch.exp(lowest - energies)


@exercise.instead_of("power")
def divided_in_the_exponent(energies: Tensor, lowest: Tensor, beta: float) -> Tensor:
    """In the exponent you divide by beta: you take it for a temperature.

    beta is an inverse temperature. The exponent is -beta·E.
    """
    return torch.exp((lowest - energies) / beta)


@exercise.misconception
def beta_never_used(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You do not use beta.

    It stands twice in the formula: in the exponent, and below the logarithm.
    """
    return free_energy(energies)


@exercise.misconception
def as_the_formula_stands(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You exponentiate the energies as they are, which overflows for large ones.

    exp(1e4) is inf and exp(-1e4) is 0, whose logarithm is -inf. Take the lowest energy out first.
    """
    return -torch.exp(-beta * energies).sum(-1).log() / beta


@exercise.misconception
def highest_taken_out(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You take out the highest energy; it should be the lowest.

    What counts is the largest exponent -beta·E, and it belongs to the lowest energy. Below it everything can overflow.
    """
    highest = energies.amax(-1, keepdim=True)
    return highest.squeeze(-1) - torch.exp(-beta * (energies - highest)).sum(-1).log() / beta


@exercise.misconception
def mean_energy(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You return the mean energy under the Boltzmann weights.

    That is one part of it. The free energy is the mean energy minus the entropy divided by beta.
    """
    powers = boltzmann_powers(energies, energies.amin(-1, keepdim=True), beta)
    weights = powers / powers.sum(-1, keepdim=True)
    return (weights * energies).sum(-1)


@exercise.misconception
def lowest_alone(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You return the lowest energy.

    That is the limit for a large beta. The other states make the free energy lower still.
    """
    return energies.amin(-1)


@exercise.misconception
def impossible_states_at_zero(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You replace an energy of +inf by 0.

    0 is an ordinary energy. A state that cannot be has the power exp(-inf) = 0, without any help.
    """
    return free_energy(energies.masked_fill(energies.isinf(), 0.0), beta)


@exercise.misconception
def everything_in_one(energies: Tensor, beta: float = 1.0) -> Tensor:
    """You sum over all rows together.

    Each row is a system of its own: only the last dimension is summed.
    """
    return free_energy(energies.flatten(), beta)


squeezes(exercise)
unpacks(exercise, "energies", "batch", "n")
