"""Reports: what they say, that hostile text stays text, and that they ask nobody for anything."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from proctor.examining.result import Explanation, Result
from proctor.grading.journal import GradedSubmission, read_marked
from proctor.grading.worker import failed_submission
from proctor.points.corrections import Correction, Corrections
from proctor.points.scheme import Scheme
from proctor.report import feedback, summary
from proctor.report.tally import Tally
from proctor.report.write import write_reports

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>`{{ 7 * 7 }}"


def result(name: str, state: Any = "passed", **more: Any) -> Result:
    score = {"passed": 1.0, "not_yet": 0.5}.get(state, 0.0)
    return Result(name, state, score, int(2 * score), 2, **more)


def student(name: str, notes: tuple[str, ...] = (), **results: Result) -> GradedSubmission:
    given = {n: result(n) for n in ("double", "shifted", "square", "share", "bump")} | results
    return GradedSubmission(name, "d", tuple(given.values()), notes)


def tripled(evidence: str = "y[0] is 3, expected 2.") -> Result:
    why = Explanation("You triple x.", "Twice is enough.")
    return result(
        "double", "not_yet", misconceptions=("tripled",), explanations=(why,), evidence=(evidence,), situation="three"
    )


class Tags(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture
def assignment(sample: Any) -> Any:
    return sample.assignment()


def test_a_feedback_page(assignment: Any) -> None:
    marked = student(
        "anna",
        notes=("cell 2 of a.ipynb has a syntax error.",),
        double=tripled(),
        **{n: result(n, "not_started") for n in ("shifted", "square", "share", "bump")},
    )
    text = Tags(feedback.feedback_page(assignment, marked)).text
    assert "Feedback for anna" in text
    assert "0.5 of 3 points , 0 of 2 exercises passed (in what you have begun)" in text
    assert "cell 2 of a.ipynb has a syntax error." in text
    assert "You triple x." in text
    assert "Not started: shifted ." in text
    assert "Not started yet Curves." in text


def test_remarks_are_shown_also_where_all_is_well(assignment: Any) -> None:
    marked = student("anna", double=result("double", remarks=("You compute it `twice`.",)))
    assert "Remark: You compute it twice ." in Tags(feedback.feedback_page(assignment, marked)).text


def test_files_that_were_not_read_are_named_once_and_on_top(assignment: Any) -> None:
    notes = ("a.py is empty.", "a.py is empty.", *(f"cell {n} of b.ipynb has a syntax error." for n in range(20)))
    text = Tags(feedback.feedback_page(assignment, student("anna", notes=notes))).text
    assert text.count("a.py is empty.") == 1
    assert text.index("a.py is empty.") < text.index("Lines")
    assert "and 13 more" in text
    assert "cell 19 of b.ipynb" in text


def test_what_a_spreadsheet_would_run_is_words_in_the_gradebook(tmp_path: Path, assignment: Any) -> None:
    write_reports(tmp_path, assignment, [student("=1+1"), student("anna")])
    lines = (tmp_path / "grades.csv").read_text("utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["student", "'=1+1", "anna"]
    assert lines[1].endswith(",6")


def test_hostile_text_stays_text(assignment: Any) -> None:
    marked = student(EVIL, notes=(EVIL,), double=replace(tripled(EVIL), situation=EVIL))
    tally = Tally(assignment)
    tally.add(marked)
    tally.add(student("b", share=result("share", "stopped", explanations=(Explanation(EVIL, EVIL),))))
    for page in (feedback.feedback_page(assignment, marked), summary.summary_page(tally)):
        tags = Tags(page)
        assert [tag for tag, _ in tags.tags].count("script") == 1
        assert not any(tag == "img" or any(key.startswith("on") for key in attributes) for tag, attributes in tags.tags)
        assert "<script>alert(1)</script>" in tags.text
        assert "{{ 7 * 7 }}" in tags.text


def test_pages_ask_nobody_for_anything(assignment: Any) -> None:
    tally = Tally(assignment)
    tally.add(student("anna"))
    for page in (feedback.feedback_page(assignment, student("anna")), summary.summary_page(tally)):
        assert not re.search(r"(src|href)=[\"'](https?:)?//|@import|url\(", page)


def test_the_summary_tells_the_class_at_a_glance(assignment: Any) -> None:
    tally = Tally(assignment)
    for name in ("anna", "ben", "cleo"):
        tally.add(student(name))
    tally.add(student("dora", double=tripled()))
    both = replace(tripled(), misconceptions=("tripled", "halved"))
    both = replace(both, explanations=(*both.explanations, Explanation("You halve x.", "The other way round.")))
    tally.add(student("emil", double=both))
    tally.add(student("finn", share=result("share", "not_yet", evidence=("y is 1, expected 2.",))))
    stopped = result(
        "bump", "stopped", explanations=(Explanation("Your code raised KeyError at a.py, line 3: `x[k]`."),)
    )
    tally.add(student("gina", bump=stopped, notes=("a.py is empty.",)))
    nothing = {n: result(n, "not_started") for n in ("double", "shifted", "square", "share", "bump")}
    tally.add(student("hugo", **nothing))
    row = tally.rows["double"]
    assert (row.share("passed"), row.states["not_yet"], row.states["not_started"]) == (5 / 8, 2, 1)
    assert [(m.name, m.count, m.example.student) for m in tally.mistakes()] == [
        ("tripled", 2, "dora"),
        ("halved", 1, "emil"),
    ]
    assert tally.histogram() == [1, 0, 0, 0, 0, 0, 0, 0, 1, 6]
    text = Tags(summary.summary_page(tally)).text
    for words in (
        "School: class summary",
        "8 students, 5 exercises, 6 points",
        "You triple x. double , 2 students Twice is enough.",
        "62 %",
        "dora y[0] is 3, expected 2.",
        "finn y is 1, expected 2.",
        "Your code raised KeyError. 1 gina",
        "hugo 0 0 0",
        "gina a.py is empty.",
    ):
        assert words in text, words


def test_a_class_that_has_not_begun(assignment: Any) -> None:
    tally = Tally(assignment)
    tally.add(
        student("hugo", **{n: result(n, "not_started") for n in ("double", "shifted", "square", "share", "bump")})
    )
    text = Tags(summary.summary_page(tally)).text
    assert "Nobody has started: Lines; Curves." in text
    assert Tags(summary.summary_page(Tally(assignment))).text


def test_our_faults_are_not_theirs(plan: Any, assignment: Any) -> None:
    tally = Tally(assignment)
    tally.add(failed_submission(plan, "anna", [], "It broke."))
    assert "5 answers could not be checked. That is a fault of the grader" in Tags(summary.summary_page(tally)).text


def test_a_name_that_is_too_long_for_a_file(tmp_path: Path, assignment: Any) -> None:
    names = ["名" * 100 + "a", "名" * 100 + "b", "ordinary"]
    write_reports(tmp_path, assignment, [student(name) for name in names])
    pages = sorted(path.name for path in (tmp_path / "feedback").iterdir())
    assert len(pages) == 3
    assert "ordinary.html" in pages
    linked = [
        attributes["href"]
        for tag, attributes in Tags((tmp_path / "summary.html").read_text("utf-8")).tags
        if tag == "a"
    ]
    assert linked == []  # nobody is behind


def test_a_correction_stands_beside_the_verdict(tmp_path: Path, assignment: Any) -> None:
    absent = {n: result(n, "not_started") for n in ("square", "share", "bump")}
    corrected = Corrections(
        [Correction("anna", "double", "+0.25", EVIL), Correction("anna", "square", "1", "Sent by mail.")]
    )
    points = {exercise.name: exercise.points for exercise in assignment.exercises}
    write_reports(
        tmp_path, assignment, [student("anna", double=tripled(), **absent), student("ben")], Scheme(points, corrected)
    )
    page = (tmp_path / "feedback" / "anna.html").read_text("utf-8")
    text = Tags(page).text
    assert "You triple x." in text
    assert "0.75 of 1 The check gave 0.5 of 1; a person corrected it to 0.75. Comment: <script>alert(1)" in text
    assert "The check gave 0 of 1; a person corrected it to 1. Comment: Sent by mail." in text
    assert "Not started: share , bump ." in text
    assert "3.75 of 6 points" in text
    assert EVIL not in page
    assert "corrected" not in Tags((tmp_path / "feedback" / "ben.html").read_text("utf-8")).text
    summary_text = Tags((tmp_path / "summary.html").read_text("utf-8")).text
    assert "Corrected by a person" in summary_text
    assert "anna double 0.5 0.75 <script>alert(1)" in summary_text
    assert "anna square 0 1 Sent by mail." in summary_text
    assert (tmp_path / "grades.csv").read_text("utf-8").splitlines()[1] == "anna,0.75,2,1,0,0,3.75"
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text("utf-8").splitlines()]
    assert [row["score"] for row in rows[:3]] == [0.5, 1.0, 0.0]


def test_pages_can_be_made_again_of_what_was_marked(tmp_path: Path, assignment: Any) -> None:
    students = [student("anna", notes=("a note",), double=tripled()), student("ben")]
    write_reports(tmp_path, assignment, students)
    assert list(read_marked(tmp_path)) == students
    (tmp_path / "marked.jsonl").write_text("{}\n")
    with pytest.raises(ValueError, match=r"marked\.jsonl is damaged"):
        list(read_marked(tmp_path))
