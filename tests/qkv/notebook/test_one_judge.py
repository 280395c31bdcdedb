"""One file gets one verdict, from `qkv check` and from the grader, and no result chooses how it is measured."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from proctor import Examiner, Result
from proctor.grading.worker import sandbox_for
from proctor.inside.properties import mapped
from proctor.marking.submission_marker import mark_submission
from proctor.marking.submissions import read
from proctor.sandbox import Limits
from qkv import exercises
from qkv.assignments import assignment
from qkv.notebook import search
from qkv.notebook.checking import _examiner, check_file, check_named

RIGHT = """
def softmax(scores{annotation}, dim: int){result}:
    powers = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return powers / powers.sum(dim=dim, keepdim=True)
"""


@pytest.fixture(scope="module")
def grade() -> Iterator[Callable[[Path], Result]]:
    """The grader's verdict on the softmax of a file, in its sandbox."""
    chosen = assignment(("softmax",))
    examiners = {"softmax": _examiner("softmax")}
    with sandbox_for(chosen, examiners, Limits(seconds=10.0, memory_mb=1024)) as box:
        yield lambda path: mark_submission(chosen, examiners, box, [read(path.name, path)])[0][0]


@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        ("import torch" + RIGHT.format(annotation=": Tensr", result=""), "stopped", "NameError: name 'Tensr'"),
        (RIGHT.format(annotation="", result=" -> Tensor"), "passed", ""),
        (
            "from __future__ import annotations\n" + RIGHT.format(annotation=": Tensr", result=""),
            "passed",
            "",
        ),
        ("def softmax(scores, dim):\n    raise NotImplementedError('later')", "not_started", ""),
        (
            "import torch\n\ndef softmax(scores, dim):\n    return scores @ torch.ones(99)\n",
            "stopped",
            "raised RuntimeError at work.py (softmax), line 4: `return scores @ torch.ones(99)`",
        ),
        ("from qkv.model.lookup import softmax as ours\nsoftmax = lambda s, dim: ours(s, dim)", "stopped", "qkv.model"),
    ],
)
def test_check_and_grade_say_the_same(
    text: str, state: str, said: str, tmp_path: Path, grade: Callable[[Path], Result]
) -> None:
    path = tmp_path / "work.py"
    path.write_text(text)
    (checked,), _ = check_file(path)
    graded = grade(path)
    assert (checked.state, checked.message) == (graded.state, graded.message)
    assert checked.state == state
    assert said in checked.message


def test_in_a_notebook_the_courses_own_answer_is_no_answer() -> None:
    from qkv.model import lookup

    result = check_named("softmax", lambda scores, dim: lookup.softmax(scores, dim))
    assert (result.state, result.score) == ("not_yet", 0.0)
    assert "You call the course's own softmax" in result.message


def test_a_line_that_checks_is_not_run_again_to_find_its_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    monkeypatch.setattr(search, "sandbox_for", lambda name: searched.append("once"))
    result = check_named("softmax", lambda scores, dim: scores.exp() / scores.exp().sum(dim, keepdim=True).sqrt())
    assert result.state == "not_yet"
    assert not searched


def test_a_class_derived_from_the_courses_own_is_no_answer() -> None:
    from qkv.model import lookup

    result = check_named("SelfAttention", type("SelfAttention", (lookup.SelfAttention,), {}))
    assert (result.state, result.score) == ("not_yet", 0.0)
    assert "You call the course's own SelfAttention" in result.message


def forged(reference: Any, dtype: torch.dtype, changed: list[Any]) -> Any:
    """The right answer, two per cent too high, in a dtype that is known for its rounding.

    Args:
        changed: takes every result that there was to change.
    """

    def forge(results: Any) -> Any:
        if isinstance(results, tuple):
            return tuple(map(forge, results))
        if isinstance(results, float):
            changed.append(results)
            return torch.tensor(1.02 * results, dtype=dtype)
        return mapped(results, forge_tensor)

    def forge_tensor(t: torch.Tensor) -> torch.Tensor:
        if not t.is_floating_point():
            return t
        changed.append(t)
        return (1.02 * t.detach()).to(dtype)

    if inspect.isclass(reference):

        def call(self: Any, *args: Any, **options: Any) -> Any:
            return forge(super(layer, self).__call__(*args, **options))

        layer: Any = type(reference.__name__, (reference,), {"__call__": call})
        return layer
    return lambda *args, **options: forge(reference(*args, **options))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", exercises.of_code())
def test_no_result_chooses_its_tolerance(name: str, dtype: torch.dtype) -> None:
    exercise = exercises.find(name)
    examiner = Examiner(exercise, "forged")
    changed: list[Any] = []
    result = examiner.examine(forged(exercise.reference, dtype, changed))
    assert result.state != "passed" or not changed
