"""A tiny exercise of no subject at all, to test the engine with."""

import copy

import torch

from proctor import Exercise
from proctor.forbid import Family
from proctor.inside.inputs import normal
from proctor.inside.properties import keeps_inputs

SOFTMAX = Family.of("torch's own softmax", "softmax")


def affine(x, slope, offset):
    """slope·x + offset."""
    return slope * x + offset


exercise = Exercise(affine, section="Lines", hints=["one", "two", "three"], forbid=[SOFTMAX])


@exercise.probe
def three_numbers(affine):
    """three numbers"""
    return {"y": affine(normal(3, seed="x"), 2.0, 0.5)}


@exercise.probe
def steep(affine):
    """a steep line"""
    return {"y": affine(normal(4, seed="x"), 100.0, -7.0)}


exercise.property(keeps_inputs(lambda: (normal(2, seed="x"), 3.0, 1.0)))


@exercise.assembled
def in_steps(x, slope, offset, *, turn=lambda x, slope: slope * x, shift=lambda y, offset: y + offset):
    return shift(turn(x, slope), offset)


@exercise.instead_of("turn")
def slope_divides(x, slope):
    """You divide by the slope.

    A steeper line rises faster.
    """
    return x / slope


@exercise.instead_of("shift")
def offset_subtracted(y, offset):
    """You subtract the offset.

    A positive offset moves the line up.
    """
    return y - offset


@exercise.misconception
def changes_its_input(x, slope, offset):
    """You write into x.

    The caller still needs it.
    """
    return x.mul_(slope).add_(offset).clone()


def unstarted(x, slope, offset):
    raise NotImplementedError


def both_wrong(x, slope, offset):
    return x / slope - offset


def unknown_mistake(x, slope, offset):
    return slope * x + offset + 1


def raises_on_steep(x, slope, offset):
    if slope > 50:
        raise IndexError("too steep")
    return slope * x + offset


def leaves(x, slope, offset):
    raise SystemExit(0)


def returns_nothing(x, slope, offset):
    slope * x + offset


def calls_softmax(x, slope, offset):
    torch.softmax(x, 0)
    return slope * x + offset


def copied():
    """The exercise once more, for a test that adds to it."""
    other = copy.copy(exercise)
    other.probes, other.misconceptions = dict(exercise.probes), dict(exercise.misconceptions)
    return other
