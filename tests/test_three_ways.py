"""One judge: a kept answer is told the same in a notebook, by `qkv check` and in the grader's sandbox.

A sixteenth of them is judged in all three ways, another one each day; all of them where `QKV_ALL=1` is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from proctor import Examiner, Result
from proctor.grading.worker import assignment_sandbox
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.line_search import LineSearch
from proctor.marking.mark import mark_submission
from proctor.marking.submissions import read_submitted_file
from proctor.sandbox import Sandbox
from qkv import exercises
from qkv.assignments import assignment
from qkv.authoring.write.rotation import turn
from qkv.authoring.write.sample_answers import SampleAnswer, sample_answers
from qkv.notebook.checking import LIMITS, judged_in_process, live_marker

ANSWERS = Path(__file__).parents[1] / "answers"
SALT = "kept answers"
FILES = [
    pytest.param(path, list(answers), id=f"{path.parents[1].name}/{path.parent.name}/{path.stem}")
    for path, answers in groupby(sample_answers(ANSWERS), key=lambda answer: answer.path)
]


@pytest.fixture(scope="module")
def examiners() -> dict[str, Examiner]:
    return {name: Examiner(exercises.get_code(name), SALT) for name in exercises.of_code()}


@pytest.fixture(scope="module")
def box(examiners: dict[str, Examiner]) -> Iterator[Sandbox]:
    with assignment_sandbox(assignment(), examiners, LIMITS) as box:
        yield box


@pytest.fixture(scope="module")
def line_search(box: Sandbox) -> LineSearch:
    return LineSearch(elsewhere=lambda name, job: box.session())


def told(result: Result) -> tuple[str, float, tuple[str, ...], int | None]:
    """What a student would be told apart by."""
    return result.state, round(result.score, 6), result.misconceptions, result.line


@pytest.mark.parametrize(("path", "answers"), turn(FILES, parts=16))
def test_one_judge(
    path: Path,
    answers: list[SampleAnswer],
    examiners: dict[str, Examiner],
    box: Sandbox,
    line_search: LineSearch,
) -> None:
    file = read_submitted_file(path.name, path)
    asked = assignment(tuple(answer.exercise for answer in answers))
    graded, _, _ = mark_submission(
        asked, examiners, box, [file], LineSearch(reference_values=line_search.reference_values)
    )
    names = [result.exercise for result in graded]
    checked = judged_in_process(Answers([extract(file)]), names, examiners, line_search)
    assert [(r.message, told(r)) for r in checked] == [(r.message, told(r)) for r in graded]
    for answer in answers:
        marker = live_marker(answer.exercise, answer.implementation, examiners[answer.exercise], line_search)
        marker.mark()
        result = graded[names.index(answer.exercise)]
        assert told(marker.results[answer.exercise]) == told(result), marker.results[answer.exercise].message
