"""A tiny exercise of weights of no subject at all: a straight line, to test the engine with."""

import torch

from proctor.examining.tensor_file import BadFile, Weights, write_tensors
from proctor.examining.weights import WeightsExercise
from proctor.marking.assignment import Assignment, ExerciseSheet


def layout(metadata):
    if metadata.get("points") != "2":
        raise BadFile("Its metadata do not say points = 2.")
    return {"slope": (1,), "offset": (1,)}


line = WeightsExercise(
    "line",
    layout=layout,
    build=lambda weights: lambda x: weights.tensors["slope"] * x + weights.tensors["offset"],
    draw=lambda generator: torch.rand(20, generator=generator),
    situation="twenty points",
    cell="save(model)",
    section="Lines",
    hints=["a", "b", "c"],
    points=2.0,
    minutes=5,
    difficulty=1,
    why="You have a line.",
)


def errors(look):
    return (look.model(look.data) - (3 * look.data + 1)).abs()


@line.measure("{} off", ".2f", at_most=0.1, scale=(("best", 0.0), ("a guess", 2.0)))
def mean(look):
    return float(look.once(errors).mean())


@line.measure("{} of the points are met", ".0%", at_least=0.5)
def met(look):
    return float((look.once(errors) < 0.05).double().mean())


@line.mistake
def upside_down(look):
    """Your line falls.

    It has to rise.
    """
    slope = float(look.weights.tensors["slope"])
    return f"its slope is {slope:g}" if slope < 0 else ""


@line.mistake
def too_high(look):
    """Your line is too high.

    It has to be lower.
    """
    offset = float(look.weights.tensors["offset"])
    return f"its offset is {offset:g}" if offset > 1.5 else ""


@line.example(upside_down)
def falling(right):
    return Weights({**right.tensors, "slope": -right.tensors["slope"]}, right.metadata)


def file(slope=3.0, offset=1.0, points="2"):
    """What a student hands in."""
    tensors = {"slope": torch.tensor([slope]), "offset": torch.tensor([offset])}
    return write_tensors(Weights(tensors, {"points": points}))


def assignment(chosen=None):
    """A sheet of its own, beside nothing that is answered by code."""
    return Assignment("School", (ExerciseSheet("Lines", (line,), ()),))
