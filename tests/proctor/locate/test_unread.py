"""An argument that an answer never reads is named; never in a right answer, nor where it makes no difference."""

from __future__ import annotations

import inspect
import textwrap
from pathlib import Path

import pytest

from proctor import Examiner
from proctor.locate.unread import never_read
from qkv import exercises
from qkv.authoring.write.sample_answers import sample_answers

ANSWERS = Path(__file__).parents[3] / "answers"
OURS = "def f(x, mask=None, dim=-1):\n    return x.sum(dim) if mask is None else (x * mask).sum(dim)\n"


@pytest.mark.parametrize(
    ("theirs", "unread"),
    [
        ("def f(x, mask=None, dim=-1):\n    return x.sum(-1)\n", ["mask", "dim"]),
        ("def f(x, mask=None, dim=-1):\n    def g():\n        return mask\n    return x.sum(dim) * g()\n", []),
        ("def f(x, mask=None, dim=-1):\n    mask = 1\n    return x.sum(dim)\n", ["mask"]),
        ("def f(x, **more):\n    return x.sum(more['dim'])\n", []),
        ("def f(x, mask, dim):\n    return g(**locals())\n", []),
        ("def f(x, extra):\n    return x\n", []),
        ("def f(x:\n", []),
    ],
)
def test_it_is_read_from_the_text(theirs: str, unread: list[str]) -> None:
    assert never_read([theirs], "f", [OURS]) == unread


def test_methods_of_a_class_and_not_what_it_is_made_with() -> None:
    ours = """
class M:
    def __init__(self, d):
        self.d = d

    def forward(self, x, mask):
        return x + mask
"""
    theirs = ours.replace("self.d = d", "pass").replace("x + mask", "x")
    assert never_read([theirs], "M", [ours]) == ["mask"]


def test_no_right_answer_leaves_an_argument_unread_that_makes_a_difference() -> None:
    said = []
    for answer in sample_answers(ANSWERS, "right"):
        if answer.exercise not in exercises.of_code():
            continue
        exercise = exercises.get_code(answer.exercise)
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(exercise.reference)))
        unread = never_read([answer.path.read_text("utf-8")], exercise.name, [text])
        said += [(answer.path.name, name) for name in unread if Examiner(exercise).makes_a_difference(name)]
    assert said == []


@pytest.mark.parametrize(("name", "parameter"), [("tiled_attention", "block"), ("layer_flops", "n_heads")])
def test_what_makes_no_difference_is_not_asked_for(name: str, parameter: str) -> None:
    examiner = Examiner(exercises.get_code(name), "salt")
    assert not examiner.makes_a_difference(parameter)
    assert examiner.makes_a_difference({"block": "causal", "n_heads": "d_ff"}[parameter])
