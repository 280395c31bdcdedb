"""Mutants: each kind of damage is made, and a survey tells noticed from missed."""

import math

import pytest
import torch

from proctor import Examiner, Exercise
from proctor.examining.mutate import mutants, survey
from proctor.inside.inputs import normal


def damages(function) -> set[str]:
    return {mutant.damage for mutant in mutants(function)}


def spread(x, scale=2.0):
    """Some of everything."""
    if scale > 1:
        x = x - x.mean(dim=-1, keepdim=True)
    return torch.exp(-x) * scale, math.sqrt(3)


def test_each_kind_of_damage():
    found = damages(spread)
    for expected in (
        "if scale > 1:  ->  if scale >= 1:",
        "if scale > 1:  ->  if True:",
        "if scale > 1:  ->  if False:",
        "if scale > 1:  ->  if scale > 2:",
        "x = x - x.mean(dim=-1, keepdim=True)  ->  x = x + x.mean(dim=-1, keepdim=True)",
        "x = x - x.mean(dim=-1, keepdim=True)  ->  x = x - x.mean(dim=1, keepdim=True)",
        "x = x - x.mean(dim=-1, keepdim=True)  ->  x = x - x.mean(dim=-1, keepdim=False)",
        "x = x - x.mean(dim=-1, keepdim=True)  ->  x = x - x.mean(dim=-1)",
        "x = x - x.mean(dim=-1, keepdim=True)  ->  x = x",
        "x = x - x.mean(dim=-1, keepdim=True)  ->  pass",
        "return (torch.exp(-x) * scale, math.sqrt(3))  ->  return (math.sqrt(3), torch.exp(-x) * scale)",
        "return (torch.exp(-x) * scale, math.sqrt(3))  ->  return (torch.exp(x) * scale, math.sqrt(3))",
        "return (torch.exp(-x) * scale, math.sqrt(3))  ->  return (-x * scale, math.sqrt(3))",
        "def spread(x, scale=2.0):  ->  def spread(x, scale=4.0):",
    ):
        assert expected in found, expected


class Layer(torch.nn.Module):
    """A module whose `__init__` is given."""

    def __init__(self, width):
        super().__init__()
        self.width = width + 1

    def forward(self, x):
        return x * self.width


def test_the_given_constructor_is_left_alone():
    found = damages(Layer)
    assert "return x * self.width  ->  return x / self.width" in found
    assert not any("width + 1" in damage for damage in found)


def double(x):
    """Twice x."""
    return x + x + 0


@pytest.fixture
def exercise():
    made = Exercise(double, section="", hints=[])

    @made.probe
    def some(double):
        """some numbers"""
        return {"y": double(normal(3, seed=0))}

    return made


def test_a_survey_tells_noticed_from_missed(exercise):
    found = survey(exercise, Examiner(exercise))
    missed = {"return x + x + 0  ->  return x + x - 0", "return x + x + 0  ->  return x + x"}
    assert {m.damage for m in found.missed} == missed
    assert found.noticed >= 4
    assert found.share == found.noticed / (found.noticed + 2)


def test_equivalents_are_declared_and_stay_true(exercise):
    line = "return x + x + 0"
    exercise.equivalents = {f"{line}  ->  return x + x - 0": "adds nothing", f"{line}  ->  return x + x": "the same"}
    found = survey(exercise, Examiner(exercise))
    assert (found.share, found.accepted) == (1.0, 2)
    exercise.equivalents[f"{line}  ->  return x"] = "not true"
    assert survey(exercise, Examiner(exercise)).stale == (f"{line}  ->  return x",)


@pytest.mark.slow  # it waits until its time limit
def test_a_mutant_that_never_ends_counts_as_noticed(monkeypatch):
    monkeypatch.setattr("proctor.examining.mutate.TIME_LIMIT", 1)

    def countdown(n):
        """n steps."""
        while n > 0:
            n = n - 1
        return torch.tensor(float(n))

    made = Exercise(countdown, section="", hints=[])

    @made.probe
    def three(countdown):
        """three steps"""
        return {"n": countdown(3)}

    found = survey(made, Examiner(made))
    assert "n = n - 1  ->  pass" not in [m.damage for m in found.missed]
