"""A mistake is proved twice: by code of its author and by code of somebody else, or it is said to stand alone."""

from pathlib import Path

import pytest
import torch

from proctor import Examiner, Exercise
from proctor.inside.inputs import normal
from qkv import exercises
from qkv.authoring.write.sample_answers import sample_answers
from qkv.authoring.write.second_spelling import never_read, second_spellings, visible

ROOT = Path(__file__).parents[4]


def line(x, slope, offset):
    """A line.

    Args:
        x: places (n,).
    """
    return x * slope + offset


@pytest.fixture
def exercise():
    exercise = Exercise(line, section="Lines", hints=["Think."])

    @exercise.probe
    def some(line):
        """some places"""
        return {"y": line(normal(5, seed="x"), 3.0, 2.5)}

    @exercise.misconception
    def subtracted(x, slope, offset):
        """You subtract."""
        return x * slope - offset

    @exercise.misconception
    def slope_unread(x, slope, offset):
        """You do not look at the slope."""
        return x + offset

    @exercise.misconception
    def nobodys(x, slope, offset):
        """Nobody would."""
        return torch.sinh(x) + 17

    @exercise.property
    def unchanged(line):
        """the inputs"""
        x = normal(5, seed="x")
        line(x, 3.0, 2.0)
        return {"x": x}

    @exercise.misconception
    def in_place(x, slope, offset):
        """You write into x."""
        return x.mul_(slope).add_(offset)

    return exercise


def test_an_edit_of_right_code_is_a_second_spelling_and_what_has_none_stands_alone(exercise):
    examiner = Examiner(exercise, "twice")
    assert [m.name for m in visible(examiner)] == ["subtracted", "slope_unread", "nobodys"]
    found = second_spellings(examiner, [])
    assert found == {
        "subtracted": "the reference, return x * slope + offset  ->  return x * slope - offset",
        "slope_unread": "the reference, return x * slope + offset  ->  return x + offset",
    }


def test_an_argument_is_taken_for_a_constant_everywhere():
    changed = dict(never_read("def f(x, dim=3):\n    return x.sum(dim)"))
    assert changed["dim always 3"] == "def f(x, dim=3):\n    dim = 3\n    return x.sum(dim)"
    assert changed["x always None"].endswith("    x = None\n    return x.sum(dim)")


@pytest.mark.parametrize(("name", "mistake"), [("softmax", "always_the_last_dimension"), ("shift_matrix", "no_minus")])
def test_plain_mistakes_of_the_course_are_proved_twice(name, mistake):
    """`no_minus` took its signs from [cos, sin, cos, sin]: nobody's plain mistake equalled it."""
    answers = [a for a in sample_answers(ROOT / "answers") if a.exercise == name]
    assert mistake in second_spellings(Examiner(exercises.get_code(name), "twice"), answers)
