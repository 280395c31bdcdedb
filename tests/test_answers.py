"""Answers that we keep, as students would hand them in: right ones in unusual styles pass, wrong ones fail.

A run takes those to exercises that changed since main, and a quarter of the others, another one each day; all of them
where `QKV_ALL=1` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from proctor import Examiner
from proctor.grading.worker import assignment_sandbox
from proctor.marking.mark import mark_submission
from proctor.marking.submissions import read_submitted_file
from proctor.sandbox import Sandbox
from qkv import exercises
from qkv.assignments import assignment
from qkv.authoring.write.changed import changed_exercises
from qkv.authoring.write.rotation import turn
from qkv.authoring.write.sample_answers import SampleAnswer, sample_answers
from qkv.notebook.checking import LIMITS

ROOT = Path(__file__).parents[1]
ANSWERS = ROOT / "answers"
SALT = "kept answers"
KEPT = [(path, list(answers)) for path, answers in groupby(sample_answers(ANSWERS), key=lambda answer: answer.path)]
CHANGED = set(changed_exercises(ROOT))
TURN = {path for path, _ in turn(KEPT)}
FILES = [
    pytest.param(path, answers, id=f"{path.parents[1].name}/{path.parent.name}/{path.stem}")
    for path, answers in KEPT
    if path in TURN or CHANGED & {answer.exercise for answer in answers}
]


@pytest.fixture(scope="module")
def examiners() -> dict[str, Examiner]:
    return {name: Examiner(exercises.get_code(name), SALT) for name in exercises.of_code()}


@pytest.fixture(scope="module")
def box(examiners: dict[str, Examiner]) -> Iterator[Sandbox]:
    with assignment_sandbox(assignment(), examiners, LIMITS) as box:
        yield box


@pytest.mark.parametrize(("path", "answers"), FILES)
def test_right_answers_pass_and_wrong_ones_fail(
    path: Path,
    answers: list[SampleAnswer],
    examiners: dict[str, Examiner],
    box: Sandbox,
    internals: Callable[[str], list[str]],
) -> None:
    names = tuple(answer.exercise for answer in answers)
    results, _, _ = mark_submission(assignment(names), examiners, box, [read_submitted_file(path.name, path)])
    for result in results:
        assert not internals(result.message)
        if answers[0].kind == "right":
            assert result.state == "passed", result.message
        else:
            assert result.state in ("not_yet", "stopped"), result.message
            assert result.score < 1


@pytest.mark.parametrize("stem", exercises.CHAPTERS)
def test_each_exercise_has_a_right_and_a_wrong_answer(stem: str) -> None:
    found = [answer for answer in sample_answers(ANSWERS) if answer.path.parents[1].name == stem]
    asked = set(exercises.names_of(stem)) - set(exercises.of_weights())
    for kind in ("right", "wrong"):
        answered = {answer.exercise for answer in found if answer.kind == kind}
        assert answered == asked, f"see answers/{stem}/{kind}"
