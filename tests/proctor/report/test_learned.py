"""What the class learned: which exercise separates, and what became of the mistakes of the run before."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.examining.result import Explanation, Result
from proctor.grading.journal import GradedSubmission, archive_previous
from proctor.report.separation import Separation
from proctor.report.write import write_reports

NAMES = ("double", "shifted", "square", "share", "bump")


def answer(name: str, state: Any = "passed", mistake: str = "") -> Result:
    why = (Explanation(f"You {mistake}."),) if mistake else ()
    score = {"passed": 1.0, "not_yet": 0.5}.get(state, 0.0)
    return Result(name, state, score, 1, 2, (mistake,) if mistake else (), why)


def student(name: str, **given: Result) -> GradedSubmission:
    return GradedSubmission(name, "d", tuple(given.get(n, answer(n)) for n in NAMES))


# ---- separation


def filled(passed: list[bool], rest: list[float]) -> Separation:
    found = Separation()
    for one, points in zip(passed, rest, strict=True):
        found.add(one, points)
    return found


def test_the_correlation_is_that_of_numpy() -> None:
    source = random.Random(4)
    rest = [source.gauss(40, 3) for _ in range(300)]
    passed = [points + source.gauss(0, 3) > 40 for points in rest]
    expected = np.corrcoef(np.array(passed, float), np.array(rest))[0, 1]
    assert filled(passed, rest).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("passed", "rest", "words"),
    [
        ([True, False] * 9, [2.0, 1.0] * 9, "too few to say"),
        ([True] * 30, [1.0, 2.0] * 15, "all passed"),
        ([False] * 30, [1.0, 2.0] * 15, "none passed"),
        ([True, False] * 15, [3.0] * 30, "the rest is equal"),
        ([True, False] * 15, [2.0, 1.0] * 15, "strongly"),
        ([True, False] * 15, [1.0, 2.0] * 15, "the wrong way round"),
        ([True, True, False, False] * 10, [1.0, 2.0] * 20, "not beyond chance"),
        ([True] * 60 + [False] * 40, [1.0] * 40 + [0.0] * 20 + [1.0] * 20 + [0.0] * 20, "not beyond chance"),
        ([True] * 500 + [False] * 500, [1.0] * 290 + [0.0] * 210 + [1.0] * 210 + [0.0] * 290, "weakly"),
        ([True] * 50 + [False] * 50, [1.0] * 35 + [0.0] * 15 + [1.0] * 15 + [0.0] * 35, "clearly"),
    ],
)
def test_it_is_said_in_words(passed: list[bool], rest: list[float], words: str) -> None:
    assert filled(passed, rest).words == words


def test_the_summary_says_which_exercise_separates(tmp_path: Path, sample: Any) -> None:
    weak = {name: answer(name, "not_yet") for name in ("shifted", "square", "double")}
    not_begun = {name: answer(name, "not_started") for name in NAMES}
    marked = [student(f"s{i:02}", **(weak if i % 2 else {})) for i in range(40)] + [student("z", **not_begun)]
    tally = write_reports(tmp_path, sample.assignment(), marked)
    assert tally.rows["double"].separation.count == 40, "who has not begun it says nothing about it"
    page = (tmp_path / "summary.html").read_text("utf-8")
    assert 'strongly <span class="quiet">(1.00)</span>' in page
    assert "all passed" in page


# ---- against the run before


@pytest.fixture
def twice(tmp_path: Path, sample: Any) -> Path:
    """Ben corrects his mistake, Cleo makes another, Dan keeps it, Eve makes a new one; Ann left and Fay came."""
    wrong = {"double": answer("double", "not_yet", "tripled")}
    other = {"double": answer("double", "not_yet", "squared")}
    before = [student("ann", **wrong), *(student(name, **wrong) for name in ("ben", "cleo", "dan")), student("eve")]
    after = [
        student("ben"),
        student("cleo", **other),
        student("dan", **wrong),
        student("eve", **wrong),
        student("fay", **wrong),
    ]
    write_reports(tmp_path, sample.assignment(), before)
    assert archive_previous(tmp_path) == tmp_path / "earlier" / "1"
    write_reports(tmp_path, sample.assignment(), after)
    return tmp_path


def text_of(page: str) -> str:
    import re

    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_what_went_away_and_what_stayed(twice: Path) -> None:
    page = text_of((twice / "summary.html").read_text("utf-8"))
    assert "Since the run before 4 students are in both runs." in page
    assert "1 is corrected, 1 gave way to something else, 1 stayed; 2 are new." in page
    assert "double 3 1 1 1 1" in page, "made before, pass now, something else, still, new"
    assert "2 answers have another score than before" in page
    assert "ben double 0.50 1.00 not yet + tripled → passed" in page
    assert "eve double 1.00 0.50 passed → not yet + tripled" in page


def test_a_first_run_compares_nothing(tmp_path: Path, sample: Any) -> None:
    write_reports(tmp_path, sample.assignment(), [student("ann")])
    assert "Since the run before" not in (tmp_path / "summary.html").read_text("utf-8")


@pytest.mark.parametrize("rubbish", ["", "{", "[]\n", '{"student": 4}\n', '{"student": "ann", "exercise": "double"}\n'])
def test_a_damaged_run_before_costs_nothing(twice: Path, sample: Any, rubbish: str) -> None:
    (twice / "earlier" / "1" / "results.jsonl").write_text(rubbish)
    write_reports(twice, sample.assignment(), [student("ann"), student("ben")])
    lines = (twice / "results.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["student"] for line in lines} == {"ann", "ben"}


def test_many_changes_and_many_notes_stay_readable(tmp_path: Path, sample: Any) -> None:
    wrong = {name: answer(name, "not_yet", "tripled") for name in NAMES}
    names = [f"s{i:05}" for i in range(2000)]
    write_reports(tmp_path, sample.assignment(), [student(name, **wrong) for name in names])
    archive_previous(tmp_path)
    noted = [GradedSubmission(name, "", student(name).results, ("A note.",)) for name in names]
    write_reports(tmp_path, sample.assignment(), noted)
    page = (tmp_path / "summary.html").read_text("utf-8")
    assert len(page) < 100_000
    assert "The first 60 are shown" in page
    assert "and 1900 more students; their pages say it." in page
