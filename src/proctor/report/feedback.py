"""The feedback page of one student: the same cards as in the notebook, on one self-contained page that prints well."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from markupsafe import Markup

from proctor.examining.result import Result
from proctor.grading.journal import GradedSubmission
from proctor.marking.assignment import Assignment
from proctor.points.scheme import Mark, Marks, Scheme
from proctor.report.notebook import card
from proctor.report.templating import render

LONGEST_NAME = 200  # bytes of a file name
NOTES = 8  # that are shown at once


@dataclass(frozen=True)
class FeedbackSection:
    """A sheet that the student has begun."""

    title: str
    answers: list[Markup]  # each a card as HTML, and what it earned
    not_started: list[str]  # names of exercises
    passed: int  # number of exercises
    total: int  # number of exercises


def feedback_page(assignment: Assignment, marked: GradedSubmission, marks: Marks | None = None) -> str:
    """The feedback page of one student; without marks, the points are those of the check."""
    marks = marks or Scheme.of(assignment).marks_of(marked)
    results = {result.exercise: result for result in marked.results}
    sections, untouched = [], []
    begun: list[str] = []
    for sheet in assignment.sheets:
        graded = [(exercise, results[exercise.name]) for exercise in sheet.exercises]
        shown = {e.name: r for e, r in graded if r.state != "not_started" or marks[e.name].correction}
        answers = [answer(result, marks[name]) for name, result in shown.items()]
        missing = [e.name for e, _ in graded if e.name not in shown]
        passed = sum(r.state == "passed" for _, r in graded)
        if answers:
            begun += [exercise.name for exercise in sheet.exercises]
            sections.append(FeedbackSection(sheet.title, answers, missing, passed, len(graded)))
        else:
            untouched.append(sheet.title)
    return render(
        "feedback.html",
        student=marked.student,
        assignment=assignment,
        marks=marks,
        earned=marks.total,
        points=marks.possible(begun),
        sections=sections,
        untouched=untouched,
        missing="Not read" if any(result.unread for result in marked.results) else "Not started",
        notes=tuple(dict.fromkeys(marked.notes)),
        most_notes=NOTES,
        passed=sum(section.passed for section in sections),
        total=sum(section.total for section in sections),
    )


@lru_cache(maxsize=1000)  # most of a class is right, or makes one of a few mistakes
def answer(result: Result, mark: Mark) -> Markup:
    return Markup(render("answer.html", card=Markup(card(result, style=False)), mark=mark))


def page_name(student: str) -> str:
    """The feedback page of a student; a name that is too long for a file is cut and made unique."""
    if len(student.encode()) <= LONGEST_NAME:
        return f"{student}.html"
    cut = student.encode()[: LONGEST_NAME - 13].decode("utf-8", "ignore")
    return f"{cut}-{sha256(student.encode()).hexdigest()[:12]}.html"
