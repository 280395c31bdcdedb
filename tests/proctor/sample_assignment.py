"""A tiny assignment of two sheets, to test grading with: later exercises build on earlier ones."""

from proctor import Exercise
from proctor.forbid import Family
from proctor.inside.inputs import normal
from proctor.marking.assignment import Assignment, ExerciseSheet

FUSED = "_scaled_dot_product_flash_attention_for_cpu"  # it contains a softmax
SOFTMAX = Family.of("torch's own softmax", "softmax", contained=[FUSED])
LINES = '''
"""Lines."""
from __future__ import annotations

import torch

TWO = 2.0


def double(x: torch.Tensor) -> torch.Tensor:
    return _times(x, TWO)


def _times(x, factor):
    return factor * x


def shifted(x):
    return double(x) + 1
'''
CURVES = """
from sample_parts.lines import shifted


def square(x):
    return x * x


def share(x):
    powers = x.exp()
    return powers / powers.sum()


def bump(x):
    return shifted(x) * square(x)
"""


def references(source):
    """The functions of a module's text."""
    names = {}
    exec(compile(source.replace("from sample_parts.lines import shifted", ""), "sample", "exec"), names)
    return names


lines = references(LINES)
curves = references(CURVES)
curves["shifted"] = lines["shifted"]

double = Exercise(lines["double"], section="Lines", hints=["a", "b", "c"])
shifted = Exercise(lines["shifted"], section="Lines", hints=["a", "b", "c"], points=2.0)
square = Exercise(curves["square"], section="Curves", hints=["a", "b", "c"])
share = Exercise(curves["share"], section="Curves", hints=["a", "b", "c"], forbid=[SOFTMAX])
bump = Exercise(curves["bump"], section="Curves", hints=["a", "b", "c"])


def three(answer):
    """three numbers"""
    return {"y": answer(normal(3, seed="three"))}


def table(answer):
    """a table of 4 × 5 numbers"""
    return {"y": answer(normal(4, 5, seed="table"))}


for exercise in (double, shifted, square, share, bump):
    exercise.probe(three)
    exercise.probe(table)


@double.misconception
def tripled(x):
    """You triple x.

    Twice is enough.
    """
    return 3 * x


@double.misconception
def halved(x):
    """You halve x.

    The other way round.
    """
    return x / 2


def assignment(chosen=None):
    """All of it, or some exercises."""

    def some(*exercises):
        return tuple(e for e in exercises if chosen is None or e.name in chosen)

    first = ExerciseSheet("Lines", some(double, shifted), ("double", "shifted"), "sample_parts.lines", LINES)
    modules = {"sample_parts.lines": LINES}
    earlier = dict.fromkeys(first.names, first.module)
    names = ("square", "share", "bump")
    second = ExerciseSheet("Curves", some(square, share, bump), names, "sample_parts.curves", CURVES, modules, earlier)
    return Assignment("School", tuple(s for s in (first, second) if s.exercises), "import torch")


RIGHT = {
    "double": "def double(x):\n    return x + x",
    "shifted": "def shifted(x):\n    return double(x) + 1",
    "square": "square = lambda x: x ** 2",
    "share": "def share(x):\n    e = torch.exp(x - x.max())\n    return e / e.sum()",
    "bump": "def bump(x):\n    return shifted(x) * square(x)",
}


def code(**changes):
    """A submission that is right but for the changes; None leaves an exercise out."""
    return "\n\n\n".join(text for text in (RIGHT | changes).values() if text) + "\n"
