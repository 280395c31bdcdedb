"""The exercise `hopfield_energy`."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, number, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.energy.shared import states_and_patterns
from qkv.model.energy import (
    free_energy,
    hopfield_energy,
)

exercise = Exercise(
    hopfield_energy,
    section="A memory with an energy",
    minutes=10,
    difficulty=2,
    why="What a memory goes down in: the valleys are what it remembers.",
    hints=[
        "Four terms. Compute each on its own; the first is a free energy of the energies -x_i·ξ.",
        "All dot products at once: state (..., d) and patterns (n, d) give (..., n).",
        "M² is the largest squared length of a pattern: one number for all states.",
    ],
    equivalents={
        "longest = patterns.square().sum(dim=-1).amax()  ->  longest = patterns.square().sum(dim=1).amax()": (
            "patterns has two dimensions"
        )
    },
)


def some_memory() -> tuple[Any, ...]:
    a, n, d = distinct(3, 8, 3, seed="sizes")
    return *states_and_patterns(a, n=n, d=d), number(0.4, 2.5, seed="beta")


@exercise.probe
def some_states(hopfield_energy: Any) -> Seen:
    """several states, all sizes different"""
    return {"energy": hopfield_energy(*some_memory())}


@exercise.probe
def one_state_or_many(hopfield_energy: Any) -> Seen:
    """a single state, states in two dimensions, and a batch of one"""
    n, d = distinct(3, 8, 2, seed="sizes")
    beta = number(1.5, 3.0, seed="beta")
    return {
        "of one": hopfield_energy(*states_and_patterns(n=n, d=d), beta),
        "of many": hopfield_energy(*states_and_patterns(2, 3, n=n, d=d), beta),
        "of a batch of one": hopfield_energy(*states_and_patterns(1, n=n, d=d), beta),
    }


@exercise.probe
def one_pattern(hopfield_energy: Any) -> Seen:
    """a memory of a single pattern, and patterns of a single number"""
    a, n = distinct(3, 8, 2, seed="sizes")
    beta = number(0.3, 0.8, seed="beta")
    return {
        "of one pattern": hopfield_energy(*states_and_patterns(a, n=1, d=n), beta),
        "of width 1": hopfield_energy(*states_and_patterns(a, n=n, d=1), beta),
    }


@exercise.probe
def a_sharp_memory(hopfield_energy: Any) -> Seen:
    """beta = 200, and long patterns"""
    state, patterns = states_and_patterns(4, n=whole(5, 9, seed="n"), d=6)
    return {"energy": hopfield_energy(2 * state, 3 * patterns, 200.0)}


usual(exercise, some_memory, alike=lambda: (*states_and_patterns(5, n=5, d=5), 0.8))


def matching(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    return free_energy(-(state @ patterns.mT), beta)


def half_a_square(state: Tensor) -> Tensor:
    return state.square().sum(-1) / 2


def log_of_the_number(patterns: Tensor, beta: float) -> float:
    return math.log(patterns.shape[0]) / beta


def half_the_longest(patterns: Tensor) -> Any:
    return patterns.square().sum(-1).amax() / 2


@exercise.assembled
def energy_in_steps(
    state: Tensor,
    patterns: Tensor,
    beta: float,
    *,
    match: Any = matching,
    own: Any = half_a_square,
    count: Any = log_of_the_number,
    longest: Any = half_the_longest,
) -> Tensor:
    return match(state, patterns, beta) + own(state) + count(patterns, beta) + longest(patterns)


@exercise.instead_of("match")
def match_added(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """Your first term has the wrong sign: matching a pattern raises the energy.

    The patterns are the valleys. The better a state matches, the lower its energy.
    """
    return -matching(state, patterns, beta)


@exercise.instead_of("match")
def match_not_divided(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You do not divide the logarithm by beta.

    1/beta stands before it, so that for a large beta the best match alone is left.
    """
    return beta * matching(state, patterns, beta)


@exercise.instead_of("match")
def match_without_beta(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You do not multiply the dot products by beta before the exponential.

    beta says how sharply patterns are told apart.
    """
    return -torch.logsumexp(state @ patterns.mT, -1) / beta


@exercise.instead_of("match")
def overflowing(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You exponentiate beta·x·ξ as it is, which overflows for a large beta.

    Take the largest exponent out first, as in `free_energy`.
    """
    return -torch.exp(beta * (state @ patterns.mT)).sum(-1).log() / beta


@exercise.instead_of("match")
def scaled_by_the_width(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You divide the dot products by the root of d.

    In attention 1/√d is what takes the place of beta. Here beta is given.
    """
    return matching(state, patterns / math.sqrt(state.shape[-1]), beta)


@exercise.instead_of("own")
def half_forgotten(state: Tensor) -> Tensor:
    """You add ξ·ξ in full; it should be half of it.

    The gradient of ½ ξ·ξ is ξ: that makes one step of retrieval a step down this energy.
    """
    return state.square().sum(-1)


@exercise.instead_of("own")
def own_length_left_out(state: Tensor) -> Any:
    """The term ½ ξ·ξ is missing.

    Without it the energy has no bottom: a state could grow along a pattern for ever.
    """
    return 0.0


@exercise.instead_of("own")
def own_length_not_squared(state: Tensor) -> Tensor:
    """You add half the length of the state; it should be half its square.

    ξ·ξ is the squared length.
    """
    return state.norm(dim=-1) / 2


@exercise.instead_of("count")
def number_left_out(patterns: Tensor, beta: float) -> float:
    """The term (1/beta)·log n is missing.

    It is a constant, too: with more patterns the logarithm of the sum grows, and this term takes back the most that it
    can grow by.
    """
    return 0.0


@exercise.instead_of("count")
def number_not_divided(patterns: Tensor, beta: float) -> float:
    """You do not divide log n by beta.

    It undoes what n equal terms add to the logarithm before, and that is divided by beta as well.
    """
    return math.log(patterns.shape[0])


@exercise.instead_of("count")
def width_for_number(patterns: Tensor, beta: float) -> float:
    """You take the logarithm of the width of a pattern, not of the number of patterns.

    n counts the rows of `patterns`.
    """
    return math.log(patterns.shape[1]) / beta


@exercise.instead_of("longest")
def longest_left_out(patterns: Tensor) -> Any:
    """The term ½ M² is missing.

    It is a constant of the memory, half of the longest pattern's squared length. No energy may fall below 0, and this
    term is what keeps it there where patterns are long.
    """
    return 0.0


@exercise.instead_of("longest")
def longest_not_squared(patterns: Tensor) -> Tensor:
    """You add half the largest length; it should be half its square.

    M is a length, and ½ M² has its square.
    """
    return patterns.norm(dim=-1).amax() / 2


@exercise.instead_of("longest")
def average_for_longest(patterns: Tensor) -> Tensor:
    """You take the average of the patterns' squared lengths; it should be the largest.

    Only the largest keeps the energy from falling below 0.
    """
    return patterns.square().sum(-1).mean() / 2


@exercise.instead_of("longest")
def largest_entry(patterns: Tensor) -> Tensor:
    """You take the largest entry of all patterns, not the largest length of a pattern.

    The length of a pattern sums over its d entries.
    """
    return patterns.square().amax() / 2


squeezes(exercise)
unpacks(exercise, "state", "batch", "d")
