"""Answers that we keep, as students would hand them in: right ones in unusual styles pass, wrong ones fail.

It is the same wherever they are judged: in a notebook, by `qkv check`, in the grader's sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from proctor import Examiner, Result
from proctor.grading.worker import sandbox_for
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.submission_marker import mark_submission
from proctor.marking.submissions import read
from proctor.sandbox import Limits, Sandbox
from qkv import exercises
from qkv.assignments import assignment
from qkv.authoring.write.sample_answers import KeptAnswer, kept
from qkv.notebook.checking import judged, judged_in_process

ANSWERS = Path(__file__).parents[1] / "answers"
SALT = "kept answers"
FILES = [
    pytest.param(path, list(answers), id=f"{path.parents[1].name}/{path.parent.name}/{path.stem}")
    for path, answers in groupby(kept(ANSWERS), key=lambda answer: answer.path)
]
# judged as in a notebook, too; `qkv lint` judges all of them so, on inputs of its own
LIVE = {file.values[0] for file in FILES[::3]}


@pytest.fixture(scope="module")
def examiners() -> dict[str, Examiner]:
    return {name: Examiner(exercises.get_code(name), SALT) for name in exercises.of_code()}


@pytest.fixture(scope="module")
def box(examiners: dict[str, Examiner]) -> Iterator[Sandbox]:
    with sandbox_for(assignment(), examiners, Limits(seconds=20.0, memory_mb=2048)) as box:
        yield box


def told(result: Result) -> tuple[str, float, str | None, str]:
    """What a student would be told apart by."""
    return result.state, round(result.score, 6), result.misconceptions, result.message


@pytest.mark.parametrize(("path", "answers"), FILES)
def test_one_judge(
    path: Path,
    answers: list[KeptAnswer],
    examiners: dict[str, Examiner],
    box: Sandbox,
    internals: Callable[[str], list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = tuple(answer.exercise for answer in answers)
    file = read(path.name, path)
    in_sandbox, _, _ = mark_submission(assignment(names), examiners, box, [file])
    here = judged_in_process(Answers([extract(file)]), [r.exercise for r in in_sandbox], examiners)
    assert [told(r) for r in here] == [told(r) for r in in_sandbox]
    if path in LIVE:
        live = {a.exercise: judged(a.exercise, a.implementation, examiners[a.exercise]) for a in answers}
        assert {n: told(r)[:3] for n, r in live.items()} == {r.exercise: told(r)[:3] for r in in_sandbox}
    for result in in_sandbox:
        assert not internals(result.message)
        if answers[0].kind == "right":
            assert result.state == "passed", result.message
        else:
            assert result.state in ("not_yet", "stopped"), result.message
            assert result.score < 1


@pytest.mark.parametrize("stem", exercises.CHAPTERS)
def test_each_exercise_has_a_right_and_a_wrong_answer(stem: str) -> None:
    found = [answer for answer in kept(ANSWERS) if answer.path.parents[1].name == stem]
    asked = set(exercises.names_of(stem)) - set(exercises.of_weights())
    for kind in ("right", "wrong"):
        answered = {answer.exercise for answer in found if answer.kind == kind}
        assert answered == asked, f"see answers/{stem}/{kind}"
