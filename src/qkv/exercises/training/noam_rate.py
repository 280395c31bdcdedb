"""The exercise `noam_rate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.training import (
    noam_rate,
)

exercise = Exercise(
    noam_rate,
    section="A rate that rises, then falls",
    minutes=10,
    difficulty=1,
    why="At this chapter's rate the post-norm model learns only with a warm-up; at a quarter of it, without one too.",
    hints=[
        "Two curves: one rises in proportion to the step, one falls with its root. Where do they meet?",
        "Before they meet the rising one is smaller, after it the falling one. Which function of two numbers is that?",
        "The rising one is step·warmup^(-3/2), so that both equal warmup^(-1/2) at step = warmup.",
    ],
)


def rates(noam_rate: Any, width: int, warmup: int, steps: Sequence[int]) -> Seen:
    return {f"step {step}, d_model {width}, warm-up {warmup}": noam_rate(step, width, warmup) for step in steps}


@exercise.probe
def rising(noam_rate: Any) -> Seen:
    """steps 1, 2 and later ones of a warm-up of thousands"""
    width, warmup = whole(300, 900, seed="width"), whole(3000, 5000, seed="warmup")
    return rates(noam_rate, width, warmup, [1, 2, *distinct(500, 2500, 2, seed="steps")])


@exercise.probe
def at_the_peak(noam_rate: Any) -> Seen:
    """the peak and its neighbours"""
    width, warmup = whole(30, 90, seed="width"), whole(60, 150, seed="warmup")
    return rates(noam_rate, width, warmup, [warmup - 1, warmup, warmup + 1])


@exercise.probe
def falling(noam_rate: Any) -> Seen:
    """steps after the warm-up, up to 100,000"""
    width, warmup = whole(300, 900, seed="width"), whole(3000, 5000, seed="warmup")
    return rates(noam_rate, width, warmup, [*distinct(6000, 20_000, 2, seed="steps"), 100_000])


@exercise.probe
def anywhere(noam_rate: Any) -> Seen:
    """a step, a width and a warm-up drawn at random"""
    step, width, warmup = (whole(2, 900, seed=name) for name in ("step", "width", "warmup"))
    return rates(noam_rate, width, warmup, [step, step + warmup])


@exercise.probe
def the_smallest(noam_rate: Any) -> Seen:
    """a warm-up of one step, and a width of 1"""
    width, warmup, later = distinct(2, 50, 3, seed="sizes")
    return {**rates(noam_rate, width, 1, [1, 2, later]), **rates(noam_rate, 1, warmup, [1, warmup, warmup + later])}


exercise.property(repeats(rising, falling))


@exercise.misconception
def larger_of_the_two(step: int, d_model: int, warmup: int) -> float:
    """You take the larger of the two curves.

    Then the rate starts at its highest and explodes later. The smaller one rises first and falls after.
    """
    return float(d_model**-0.5 * max(step**-0.5, step * warmup**-1.5))


@exercise.misconception
def wrong_power_of_the_warmup(step: int, d_model: int, warmup: int) -> float:
    """You multiply the step by warmup^(-1/2).

    The two curves should meet at step = warmup; that takes the power -3/2.
    """
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-0.5))


@exercise.misconception
def wider_models_faster(step: int, d_model: int, warmup: int) -> float:
    """You multiply by the root of d_model instead of dividing.

    A wider model adds up more changes in each output, so each of them must be smaller.
    """
    return noam_rate(step, d_model, warmup) * d_model


@exercise.misconception
def width_ignored(step: int, d_model: int, warmup: int) -> float:
    """You leave d_model out.

    The rate is divided by the root of the width.
    """
    return noam_rate(step, 1, warmup)


@exercise.misconception
def never_falling(step: int, d_model: int, warmup: int) -> float:
    """Your rate stays at its peak after the warm-up.

    In this schedule it falls with the root of the step from there on.
    """
    return noam_rate(min(step, warmup), d_model, warmup)


@exercise.misconception
def counted_from_zero(step: int, d_model: int, warmup: int) -> float:
    """You count steps from 0 and add one.

    Here the first update is step 1 already; added again, every rate belongs to the next step.
    """
    return noam_rate(step + 1, d_model, warmup)


@exercise.misconception
def scaled_to_its_peak(step: int, d_model: int, warmup: int) -> float:
    """You multiply by the root of the warm-up, so that the peak is 1/√d_model.

    Some toolkits do so, with a base rate in place of 1/√d_model. In the paper the peak is 1/√(d_model·warmup): a longer
    warm-up leads to a lower one.
    """
    return noam_rate(step, d_model, warmup) * math.sqrt(warmup)


@exercise.misconception
def peak_of_one(step: int, d_model: int, warmup: int) -> float:
    """Your rate has its peak at 1, whatever the width and the warm-up.

    Some toolkits multiply such a curve by a base rate. Here width and warm-up set the height.
    """
    return noam_rate(step, 1, warmup) * math.sqrt(warmup)


@exercise.misconception
def without_a_warm_up(step: int, d_model: int, warmup: int) -> float:
    """Your rate falls from the first step on.

    The first steps are the dangerous ones: the rate should rise until step = warmup.
    """
    return float(d_model**-0.5 * step**-0.5)


@exercise.misconception
def rising_for_ever(step: int, d_model: int, warmup: int) -> float:
    """Your rate rises for ever.

    The second curve is missing: after the warm-up the rate falls with the root of the step.
    """
    return float(d_model**-0.5 * step * warmup**-1.5)


@exercise.misconception
def width_without_its_root(step: int, d_model: int, warmup: int) -> float:
    """You divide by d_model; it should be its root.

    What adds up in a wider model are many changes of either sign, and their sum grows as the root of the width.
    """
    return noam_rate(step, d_model, warmup) * d_model**-0.5
