"""Several files of a student that answer one exercise: an old version, a backup, a copy. Each is judged until one is
right, the best one counts, and the student is told which. Inputs are hidden, so more tries earn nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from proctor.examining.result import Result
from proctor.marking.submission_marker import SubmissionMarker
from proctor.marking.submissions import joined_names

MOST_COPIES = 4  # of one answer that are judged


def judge_copies(marker: SubmissionMarker) -> None:
    """Replace the results of a marked submission by those of better copies, and say on each which copy it is of."""
    answers = marker.answers
    files_of = {name: answers.files_with(name)[:MOST_COPIES] for name in marker.file_of}
    judged = {name: {marker.file_of[name]: marker.results[name]} for name, files in files_of.items() if len(files) > 1}
    for turn in range(1, MOST_COPIES):
        prefer = {
            name: files_of[name][turn]
            for name in judged
            if turn < len(files_of[name]) and marker.results[name].state != "passed"
        }
        if not prefer:
            break
        other = SubmissionMarker(
            marker.assignment,
            marker.examiners,
            marker.runner,
            answers,
            locator=marker.locator,
            prefer=prefer,
            spent=marker.spent,
        )
        other.mark()
        for name, file in prefer.items():
            judged[name][file] = other.results[name]
            if other.results[name].score > marker.results[name].score:
                marker.results[name], marker.file_of[name] = other.results[name], file
    names = [source.name for source in answers.sources]
    for name, results in judged.items():
        counted = marker.file_of[name]
        others = {names[file]: results.get(file) for file in files_of[name] if file != counted}
        marker.results[name] = with_copies(marker.results[name], names[counted], others)


def with_copies(result: Result, counted: str, others: Mapping[str, Result | None]) -> Result:
    """A result that says which of several files counted, and what the others earn, as far as they were judged."""
    rest = [f"{name}, which would earn {other.score:.0%}" if other else name for name, other in others.items()]
    remark = f"Taken from {counted}; it is also answered in {joined_names(rest)}."
    return replace(result, remarks=(*result.remarks, remark))
