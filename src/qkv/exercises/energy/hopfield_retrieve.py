"""The exercise `hopfield_retrieve`."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from proctor import Exercise
from proctor.examining.usual_mistakes import squeezes, unpacks
from proctor.inside.inputs import distinct, normal, number, whole
from proctor.inside.properties import usual
from proctor.inside.situations import Seen
from qkv.exercises.energy.shared import squared_distances, states_and_patterns
from qkv.model.energy import (
    hopfield_retrieve,
)

exercise = Exercise(
    hopfield_retrieve,
    section="One step is attention",
    minutes=5,
    difficulty=1,
    why="It shows in two lines that attention is a memory that completes what it is shown.",
    hints=[
        "States (..., d) and patterns (n, d): which shape have their scores? Over which dimension do weights sum to 1?",
        "The patterns are keys and values at once: what is matched is what is returned.",
        "Each step starts from what the step before gave.",
    ],
)


def some_retrieval(steps: int = 3) -> tuple[Any, ...]:
    a, n, d = distinct(3, 8, 3, seed="sizes")
    return *states_and_patterns(a, n=n, d=d), number(0.3, 0.8, seed="beta"), steps


@exercise.probe
def one_step(hopfield_retrieve: Any) -> Seen:
    """one step, `steps` left at its default"""
    return {"state": hopfield_retrieve(*some_retrieval()[:3])}


@exercise.probe
def several_steps(hopfield_retrieve: Any) -> Seen:
    """two to five steps"""
    return {"state": hopfield_retrieve(*some_retrieval(whole(2, 6, seed="steps")))}


@exercise.probe
def no_step(hopfield_retrieve: Any) -> Seen:
    """no step at all"""
    return {"state": hopfield_retrieve(*some_retrieval(0))}


@exercise.probe
def a_state_or_many(hopfield_retrieve: Any) -> Seen:
    """a single state, and states in two dimensions"""
    n, d = distinct(3, 8, 2, seed="sizes")
    beta = number(1.2, 2.0, seed="beta")
    return {
        "of one": hopfield_retrieve(*states_and_patterns(n=n, d=d), beta, 2),
        "of many": hopfield_retrieve(*states_and_patterns(2, 3, n=n, d=d), beta),
    }


@exercise.probe
def a_single_pattern(hopfield_retrieve: Any) -> Seen:
    """a memory of one pattern, and patterns of a single number"""
    a, n = distinct(3, 8, 2, seed="sizes")
    return {
        "of one pattern": hopfield_retrieve(*states_and_patterns(a, n=1, d=n), 0.7),
        "of width 1": hopfield_retrieve(*states_and_patterns(a, n=n, d=1), 0.7, 2),
    }


@exercise.probe
def one_leads_to_the_next(hopfield_retrieve: Any) -> Seen:
    """a state that matches one pattern best, which itself matches another one better"""
    first = 1.5 * F.normalize(normal(6, seed="first"), dim=0)
    aside = normal(6, seed="aside")
    aside = 1.5 * F.normalize(aside - (aside @ first) / (first @ first) * first, dim=0)
    patterns = torch.stack([first, 2 * first + aside, *normal(3, 6, seed="others", std=0.1)])
    return {f"after {steps}": hopfield_retrieve(first - 2 * aside, patterns, 1.0, steps) for steps in (1, 2)}


@exercise.probe
def a_sharp_beta(hopfield_retrieve: Any) -> Seen:
    """beta = 200"""
    return {"state": hopfield_retrieve(*states_and_patterns(4, n=whole(5, 9, seed="n"), d=6), 200.0)}


usual(exercise, some_retrieval, alike=lambda: (*states_and_patterns(5, n=5, d=5), 0.8, 2))


def by_beta(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    return beta * (state @ patterns.mT)


def over_patterns(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def replaced(state: Tensor, found: Tensor) -> Tensor:
    return found


def as_often(steps: int) -> int:
    return steps


@exercise.assembled
def retrieval_in_steps(
    state: Tensor,
    patterns: Tensor,
    beta: float,
    steps: int = 1,
    *,
    compare: Any = by_beta,
    weigh: Any = over_patterns,
    update: Any = replaced,
    often: Any = as_often,
) -> Tensor:
    for _ in range(often(steps)):
        state = update(state, weigh(compare(state, patterns, beta)) @ patterns)
    return state


@exercise.instead_of("compare")
def beta_divides(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You divide by beta: you take it for a temperature.

    beta is an inverse temperature. A larger one tells patterns apart more sharply.
    """
    return state @ patterns.mT / beta


@exercise.instead_of("compare")
def beta_unused(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You do not use beta.

    The scores are multiplied by it before the softmax.
    """
    return state @ patterns.mT


@exercise.instead_of("compare")
def scaled_by_the_root(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You divide the scores by the root of d as well.

    In attention 1/√d is what takes the place of beta. Here beta is given, and nothing else scales.
    """
    return by_beta(state, patterns, beta) / math.sqrt(state.shape[-1])


@exercise.instead_of("compare")
def away_from_matches(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """The sign is reversed: the pattern that matches worst has the largest weight.

    The energy of a match is negative, the score is positive.
    """
    return -by_beta(state, patterns, beta)


@exercise.instead_of("compare")
def compared_by_cosine(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You compare by cosines.

    Nothing is normalised here: the scores are dot products, and long patterns match more strongly.
    """
    return beta * (F.normalize(state, dim=-1) @ F.normalize(patterns, dim=-1).mT)


@exercise.instead_of("compare")
def compared_by_distance(state: Tensor, patterns: Tensor, beta: float) -> Tensor:
    """You compare by distances.

    That is kernel regression. The scores here are dot products.
    """
    return -beta * squared_distances(state.unsqueeze(-2), patterns.expand(*state.shape[:-1], -1, -1)).squeeze(-2) / 2


@exercise.instead_of("weigh")
def winner_takes_all(scores: Tensor) -> Tensor:
    """You return the best matching pattern alone.

    That is the limit of a large beta. Every pattern has a weight, and the weights can be differentiated.
    """
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


@exercise.instead_of("weigh")
def over_states(scores: Tensor) -> Tensor:
    """Your softmax runs over the states, not over the patterns.

    Each state shares 1 among the patterns: that is the last dimension.
    """
    return scores.softmax(0)


@exercise.instead_of("weigh")
def never_a_softmax(scores: Tensor) -> Tensor:
    """You weigh the patterns by the scores themselves; the softmax is missing.

    That is Hopfield's network of 1982, which forgets everything at a few patterns. The exponential is what tells so
    many apart.
    """
    return scores


@exercise.instead_of("update")
def old_state_added(state: Tensor, found: Tensor) -> Tensor:
    """You add what was found to the state.

    The residual connection belongs to a Transformer's layer. Here the state is replaced.
    """
    return state + found


@exercise.instead_of("update")
def made_unit_length(state: Tensor, found: Tensor) -> Tensor:
    """You scale the state to length 1 after each step.

    Nothing is normalised here.
    """
    return F.normalize(found, dim=-1)


@exercise.instead_of("update")
def signs_alone(state: Tensor, found: Tensor) -> Tensor:
    """You keep only the signs of the state.

    That is the classical network. This one has states of real numbers.
    """
    return found.sign()


@exercise.instead_of("often")
def steps_ignored(steps: int) -> int:
    """You take one step, whatever `steps` says.

    Each step starts from what the one before gave; with 0 the state comes back as it was.
    """
    return 1


@exercise.instead_of("often")
def one_step_more(steps: int) -> int:
    """You take one step too many.

    `steps` counts them all; with 0 the state comes back as it was.
    """
    return steps + 1


@exercise.misconception
def always_from_the_start(state: Tensor, patterns: Tensor, beta: float, steps: int = 1) -> Tensor:
    """Each of your steps starts from the given state again, so more steps change nothing.

    A step starts from what the step before gave.
    """
    return hopfield_retrieve(state, patterns, beta, min(steps, 1))


@exercise.misconception
def last_step_alone(state: Tensor, patterns: Tensor, beta: float, steps: int = 1) -> Tensor:
    """Your values are right, but the gradient flows through the last step only.

    The state is cut from the graph between the steps. It should be differentiable through all of them.
    """
    state = hopfield_retrieve(state, patterns, beta, max(steps - 1, 0)).detach() if steps > 1 else state
    return hopfield_retrieve(state, patterns, beta, min(steps, 1))


squeezes(exercise)
unpacks(exercise, "state", "batch", "d")
