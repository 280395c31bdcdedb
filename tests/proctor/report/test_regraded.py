"""A class that is graded again: whose points changed, and whether they handed in anew or the exercise was mended."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from proctor.examining.result import Result
from proctor.grading.journal import GradedSubmission, archive_previous
from proctor.report.write import write_reports

EXERCISES = ("double", "shifted", "square", "share", "bump")
QUOTED = 'Zo\u00eb "\\" O\'Bo'


def marked(name: str, score: float, digest: str) -> GradedSubmission:
    results = [Result(e, "passed", 1.0, 2, 2) for e in EXERCISES[1:]]
    first = Result("double", "passed" if score == 1 else "not_yet", score, int(2 * score), 2)
    return GradedSubmission(name, digest, (first, *results))


def regraded(out: Path, sample: Any, before: list[GradedSubmission], now: list[GradedSubmission]) -> str:
    write_reports(out, sample.assignment(), before)
    archive_previous(out)
    write_reports(out, sample.assignment(), now)
    page = (out / "summary.html").read_text("utf-8")
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.partition("<body>")[2])).split())


def test_whose_points_changed_and_why(tmp_path: Path, sample: Any) -> None:
    before = [marked("anna", 0.5, "a"), marked("ben", 0.5, "b"), marked("cara", 1, "c"), marked(QUOTED, 1, "z")]
    now = [marked("anna", 1, "a"), marked("ben", 1, "b2"), marked("cara", 1, "c"), marked(QUOTED, 0.5, "z")]
    text = regraded(tmp_path, sample, before, now)
    assert "3 answers have another score than before" in text
    assert "Of these, 2 are of the same files as before: an exercise was mended since, or fresh inputs" in text
    assert "anna double 0.50 1.00 not yet → passed the same files" in text
    assert "ben double 0.50 1.00 not yet → passed handed in anew" in text
    assert f"{QUOTED} double 1.00 0.50 passed → not yet the same files" in text


def test_results_without_what_was_marked_are_compared_without_saying_why(tmp_path: Path, sample: Any) -> None:
    write_reports(tmp_path, sample.assignment(), [marked("anna", 0.5, "a")])
    (tmp_path / "marked.jsonl").unlink()
    archive_previous(tmp_path)
    write_reports(tmp_path, sample.assignment(), [marked("anna", 1, "a")])
    text = (tmp_path / "summary.html").read_text("utf-8")
    assert "1 answer has another score than before" in text
    assert "the same files" not in text
