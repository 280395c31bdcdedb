"""An exercise with a few steps, of no course: numbers are standardised, then scaled. Its reference has a file, since
the search for a line reads it."""

import torch

from proctor import Exercise
from proctor.inside.inputs import normal
from proctor.inside.properties import keeps_inputs
from proctor.marking.assignment import Assignment, ExerciseSheet


def standardise(x, gain, eps=1e-3):
    """Mean 0 and variance 1 in every row."""
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return gain * centred / torch.sqrt(variance + eps)


def count_pairs(n):
    """The number of pairs among n."""
    return n * (n - 1) // 2


exercise = Exercise(standardise, section="Rows", hints=["a", "b", "c"])
counting = Exercise(count_pairs, section="Pairs", hints=["a", "b", "c"])


@exercise.probe
def rows(standardise):
    """three rows of five"""
    return {"y": standardise(normal(3, 5, seed="x"), 2.0)}


@exercise.probe
def stack(standardise):
    """a stack of 2 × 4 × 6 numbers"""
    return {"y": standardise(3 + normal(2, 4, 6, seed="stack"), 0.5, 0.1)}


exercise.property(keeps_inputs(lambda: (normal(2, 3, seed="x"), 1.5)))


@exercise.misconception
def not_centred(x, gain, eps=1e-3):
    """You do not subtract the mean.

    The variance is about the mean.
    """
    return gain * x / torch.sqrt(x.square().mean(dim=-1, keepdim=True) + eps)


@counting.probe
def some(count_pairs):
    """several sizes"""
    return {"n": torch.tensor([count_pairs(n) for n in (2, 5, 9)])}


def assignment(chosen=None):
    """Both exercises."""
    sheet = ExerciseSheet("Rows", (exercise, counting), ("standardise", "count_pairs"))
    return Assignment("Rows", (sheet,), "import torch")
