"""A whole submission: its code, its copies of code, its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.examining.diagnose import Examiner
from proctor.examining.result import Result
from proctor.examining.weights import WeightsJudge
from proctor.marking.answers import Answers
from proctor.marking.assignment import Assignment
from proctor.marking.copies import judge_copies
from proctor.marking.extraction import extract_all
from proctor.marking.submission_marker import Locator, Runner, SubmissionMarker
from proctor.marking.submissions import WEIGHTS, File
from proctor.marking.weights_files import judge_weights, unasked_weights


def mark_submission(
    assignment: Assignment,
    examiners: Mapping[str, Examiner],
    runner: Runner,
    files: Sequence[File],
    locator: Locator | None = None,
    weights_judges: Mapping[str, WeightsJudge] | None = None,
) -> tuple[list[Result], list[str], str]:
    """The results of one submission in the assignment's order, notes on unread files, the code of the answers."""
    answers = Answers(extract_all([file for file in files if file.suffix != WEIGHTS]))
    marker = SubmissionMarker(assignment, examiners, runner, answers, locator=locator)
    marker.mark()
    judge_copies(marker)
    of_weights = {name: judge_weights(judge, files) for name, judge in (weights_judges or {}).items()}
    results = [{**marker.results, **of_weights}[exercise.name] for exercise in assignment.exercises]
    notes = [problem.sentence for problem in answers.problems]
    notes += unasked_weights(files, list((weights_judges or {}).values()))
    if not files:
        notes.append("There is no notebook and no .py file in this submission.")
    return results, notes, marker.code()
