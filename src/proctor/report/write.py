"""All files of a graded class, made in one pass over the students in their order.

results.jsonl   a line per student and exercise
marked.jsonl    a line per student with all that is known: pages are made of it again without marking
grades.csv      a line per student: points per exercise, total
feedback/       a page per student
summary.html    the class at a glance
unnamed.json    mistakes that have no name, by what has to change: for an author, who can make misconceptions of them
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from proctor.examining.result import Result
from proctor.grading.journal import MARKED, GradedSubmission, write_atomically
from proctor.marking.assignment import Assignment
from proctor.points.scheme import Scheme, points_text
from proctor.report import feedback, summary
from proctor.report.since import since_last
from proctor.report.tally import Tally
from proctor.tables import spreadsheet_text


def write_reports(
    out: Path,
    assignment: Assignment,
    students: Iterable[GradedSubmission],
    scheme: Scheme | None = None,
) -> Tally:
    """Write everything; each file appears whole or not at all. Returns the class in numbers."""
    scheme = scheme or Scheme.of(assignment)
    tally = Tally(assignment, scheme, since_last(out))
    pages = out / ".feedback.part"
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir()
    lines, table, whole = out / ".results.part", out / ".grades.part", out / ".marked.part"
    with (
        whole.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as kept,
        lines.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as results,
        table.open("w", encoding="utf-8", errors="backslashreplace", newline="") as grades,
    ):
        rows = csv.writer(grades, lineterminator="\n")
        rows.writerow(["student", *(exercise.name for exercise in assignment.exercises), "total"])
        for marked in students:
            marks = scheme.marks_of(marked)
            tally.add(marked, marks)
            kept.write(marked.to_json() + "\n")
            results.writelines(line(marked.student, result) for result in marked.results)
            earned = [points_text(mark.points) for mark in marks]
            rows.writerow([spreadsheet_text(marked.student), *earned, points_text(marks.total)])
            page = feedback.feedback_page(assignment, marked, marks).encode("utf-8", "backslashreplace")
            (pages / feedback.page_name(marked.student)).write_bytes(page)  # they become visible together
    if (out / "feedback").exists():
        shutil.rmtree(out / "feedback")
    pages.replace(out / "feedback")
    table.replace(out / "grades.csv")
    write_atomically(out / "summary.html", summary.summary_page(tally))
    write_atomically(out / "unnamed.json", unnamed(tally))
    whole.replace(out / MARKED)
    lines.replace(out / "results.jsonl")
    return tally


def unnamed(tally: Tally) -> str:
    """The groups of mistakes without a name, most common first. Edits are in it: it is not for students."""
    groups = [{"students": group.count, **asdict(group)} for group in tally.unnamed()]
    return json.dumps(groups, ensure_ascii=False, indent=1) + "\n"


def line(student: str, result: Result) -> str:
    """One line of results.jsonl."""
    return f'{{"student": {to_json(student)}, {fields(result)}\n'


@lru_cache(maxsize=1000)  # most of a class is right, or makes one of a few mistakes
def fields(result: Result) -> str:
    """The part of a results.jsonl line after the student."""
    return to_json(result.row("")).removeprefix('{"student": "", ')


to_json = json.JSONEncoder(ensure_ascii=False).encode
