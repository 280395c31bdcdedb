"""Mistakes that have no name but a place: grouped by what has to change, for the instructor and for an author."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.examining.result import Explanation, Located, Result
from proctor.grading.grade import salt_of
from proctor.grading.journal import GradedSubmission
from proctor.grading.worker import Plan, close_sandbox, mark
from proctor.marking.submissions import File
from proctor.report.write import write_reports
from proctor.sandbox import Limits

WHY = (Explanation("One change in line 3, `y = x - 1`, makes all 2 checks pass: look at the operator."),)


def located(line: int, kind: str = "operator", by: str = "repair", new: str = "x + 1") -> Result:
    found = Located(by, kind, "x - 1 < <b>", new)
    return Result(
        "double", "not_yet", 0.5, 1, 2, explanations=WHY, help="located", line=line, located=found, steps=("a", "b")
    )


def nearly() -> Result:
    return Result("double", "not_yet", 0.5, 1, 2, explanations=WHY, help="resembles", resembles="halves")


def student(name: str, result: Result, sample: Any) -> GradedSubmission:
    others = (Result(e.name, "passed", 1.0, 2, 2) for e in sample.assignment().exercises[1:])
    return GradedSubmission(name, "d", (result, *others))


@pytest.fixture
def out(tmp_path: Path, sample: Any) -> Path:
    students = [
        student("ada", located(3), sample),
        student("bob", located(7), sample),
        student("cid", located(4, "Call", "trace", ""), sample),
        student("dee", located(5, "dimension + sign"), sample),
        student("eve", nearly(), sample),
    ]
    write_reports(tmp_path, sample.assignment(), students)
    return tmp_path


def test_they_are_grouped_by_kind_for_an_author(out: Path) -> None:
    groups = json.loads((out / "unnamed.json").read_text())
    assert [(g["exercise"], g["by"], g["kind"], g["students"]) for g in groups] == [
        ("double", "repair", "operator", 2),
        ("double", "trace", "Call", 1),
        ("double", "repair", "dimension + sign", 1),
        ("double", "resembles", "halves", 1),
    ]
    assert groups[0]["places"][1] == {"student": "bob", "line": 7, "old": "x - 1 < <b>", "new": "x + 1"}


def test_the_summary_shows_the_groups_and_no_repair(out: Path) -> None:
    page = (out / "summary.html").read_text()
    assert "Mistakes without a name, by what has to change" in page
    assert "the operator" in page
    assert "the dimension, and the sign" in page
    assert "a value that no right solution has" in page
    assert "nearly the mistake <code>halves</code>" in page
    assert "x - 1 &lt; &lt;b&gt;" in page
    assert "x + 1" not in page
    assert "Wrong in ways that have no name yet" not in page, "each has its place"


def test_no_student_is_shown_the_repair(out: Path) -> None:
    pages = [path.read_text() for path in (out / "feedback").iterdir()]
    assert any("look at the operator" in page for page in pages)
    assert not any("x + 1" in page for page in (*pages, (out / "results.jsonl").read_text()))
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    assert [(row["help"], row["line"]) for row in rows if row["exercise"] == "double"] == [
        ("located", 3),
        ("located", 7),
        ("located", 4),
        ("located", 5),
        ("resembles", None),
    ]


def test_the_summary_counts_how_wrong_answers_were_helped(out: Path) -> None:
    page = (out / "summary.html").read_text()
    table = page[page.index("What wrong answers were told") :]
    assert [table.index(f'<td class="name">{kind}</td>') for kind in ("resembles", "located")] == sorted(
        table.index(f'<td class="name">{kind}</td>') for kind in ("resembles", "located")
    )
    assert '<td class="name">named</td>' not in table


@pytest.mark.parametrize("result", [located(3), nearly()])
def test_the_journal_keeps_them(sample: Any, result: Result) -> None:
    marked = student("ada", result, sample)
    assert GradedSubmission.from_json(marked.to_json()) == marked


def test_a_worker_locates_where_that_is_asked_for(sample_norm: Any, quick_start: None) -> None:
    text = "def standardise(x, gain, eps=1e-3):\n    c = x - x.mean(-1, keepdim=True)\n"
    text += "    return gain * c / ((c * c).mean(-1, keepdim=True) - eps).sqrt()\n"
    files = [File("work.py", text.encode())]
    results = {}
    for locate in (True, False):
        plan = Plan(sample_norm.assignment, (None,), salt_of(1), Limits(seconds=10.0, memory_mb=1024), locate=locate)
        results[locate] = mark(plan, "ada", files).results[0]
    close_sandbox()
    assert (results[True].help, results[True].line) == ("located", 3)
    assert results[True].located == Located(
        "repair", "operator", "(c * c).mean(-1, keepdim=True) - eps", results[True].located.new
    )  # type: ignore[union-attr]
    assert results[False].help == "shown"
    assert results[True].score == results[False].score
