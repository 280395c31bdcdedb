"""Grading a class: files, seeds, resuming, regrading. The engine is a stand-in here; real ones have their own tests."""

from __future__ import annotations

import csv
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.grading.grade import grade_class, salt_of
from proctor.grading.journal import GradedSubmission, Journal
from proctor.grading.worker import Plan, failed_submission
from proctor.marking.submissions import Submission, collect, digest
from proctor.report import feedback


class InProcess:
    """Marks without a sandbox, by the name of the student; can be interrupted."""

    def __init__(self, sample: Any, stop_after: int | None = None, seconds: float = 0.1) -> None:
        self.sample, self.stop_after, self.seconds = sample, stop_after, seconds
        self.marked: list[str] = []
        self.salts: list[str] = []

    def __call__(self, plan: Plan, submissions: Iterable[Submission]) -> Iterator[GradedSubmission]:
        for submission in sorted(submissions, key=lambda s: s.student[::-1]):  # not in the order of names
            if self.stop_after is not None and len(self.marked) == self.stop_after:
                raise KeyboardInterrupt
            self.marked.append(submission.student)
            self.salts.append(plan.salt)
            yield self.mark(plan, submission)

    def mark(self, plan: Plan, submission: Submission) -> GradedSubmission:
        from proctor import Examiner

        files = submission.load()
        names: dict[str, Any] = {}
        exec(files[0].content, names)
        results = []
        for exercise in plan.assignment().exercises:
            examiner = Examiner(exercise, plan.salt)
            seen = examiner.observations(names[exercise.name]) if exercise.name in names else {}
            results.append(examiner.verdict(seen, self.seconds))
        return GradedSubmission(submission.student, digest(files), tuple(results))


@pytest.fixture
def class_folder(tmp_path: Path, sample: Any) -> Path:
    folder = tmp_path / "class"
    folder.mkdir()
    wrong = {"alice": {}, "bob": {"double": "def double(x): return 3 * x"}, "carol": {"square": None}, "dan": {}}
    for name, changes in wrong.items():
        (folder / f"{name}.py").write_text("import torch\n" + sample.code(**changes))
    return folder


@pytest.fixture
def grade(class_folder: Path, sample: Any) -> Callable[..., Any]:
    from proctor.sandbox import Limits

    def run(out: Path, engine: Any, seed: int | None = 1, **options: Any) -> Any:
        plan = Plan(sample.assignment, (None,), salt_of(seed), Limits())
        said: list[str] = []
        outcome = grade_class(
            collect(class_folder).submissions, out, plan, engine, seed=seed, say=said.append, **options
        )
        run.said = said  # type: ignore[attr-defined]
        return outcome

    return run


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_files_of_a_class(tmp_path: Path, grade: Any, sample: Any) -> None:
    outcome = grade(tmp_path / "out", InProcess(sample))
    assert (outcome.marked, outcome.resumed, outcome.earlier) == (4, 0, None)
    files = files_of(tmp_path / "out")
    pages = [f"feedback/{name}.html" for name in ("alice", "bob", "carol", "dan")]
    assert sorted(files) == sorted(
        [*pages, "grades.csv", "marked.jsonl", "results.jsonl", "summary.html", "unnamed.json"]
    )


def test_results_have_a_line_per_student_and_exercise(tmp_path: Path, grade: Any, sample: Any) -> None:
    grade(tmp_path / "out", InProcess(sample, seconds=2.5))
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").open(encoding="utf-8")]
    exercises = ["double", "shifted", "square", "share", "bump"]
    assert [(r["student"], r["exercise"]) for r in rows] == [
        (s, e) for s in ("alice", "bob", "carol", "dan") for e in exercises
    ]
    keys = ["student", "exercise", "state", "score", "probes_passed", "probes", "misconception", "help", "line"]
    assert all(list(row) == [*keys, "message", "seconds"] for row in rows)
    bob = rows[5]
    assert (bob["state"], bob["score"], bob["misconception"], bob["seconds"]) == ("not_yet", 0.0, "tripled", 2.5)
    assert bob["message"].startswith("double: not yet (0 of 2 checks pass)\nYou triple x.\n")


def test_grades_have_a_column_per_exercise_and_the_total(tmp_path: Path, grade: Any, sample: Any) -> None:
    grade(tmp_path / "out", InProcess(sample))
    rows = list(csv.reader((tmp_path / "out" / "grades.csv").open(encoding="utf-8")))
    assert rows[0] == ["student", "double", "shifted", "square", "share", "bump", "total"]
    assert rows[1] == ["alice", "1", "2", "1", "1", "1", "6"]


def test_the_same_seed_gives_the_same_files(tmp_path: Path, grade: Any, sample: Any) -> None:
    for name in "ab":
        grade(tmp_path / name, InProcess(sample))
    grade(tmp_path / "c", InProcess(sample), seed=2)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    assert files_of(tmp_path / "a") != files_of(tmp_path / "c")


def test_without_a_seed_inputs_are_fresh(tmp_path: Path, grade: Any, sample: Any) -> None:
    engine = InProcess(sample)
    for _ in range(2):
        grade(tmp_path / "out", engine, seed=None)
    assert len(set(engine.salts)) == 2


@pytest.mark.parametrize("seed", [1, None])
@pytest.mark.parametrize("done", [0, 1, 3])
def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path, grade: Any, sample: Any, seed: int | None, done: int
) -> None:
    first, second = InProcess(sample, stop_after=done), InProcess(sample)
    with pytest.raises(KeyboardInterrupt):
        grade(tmp_path / "out", first, seed=seed)
    assert not (tmp_path / "out" / "results.jsonl").exists()
    outcome = grade(tmp_path / "out", second, seed=seed)
    assert sorted(first.marked + second.marked) == ["alice", "bob", "carol", "dan"]
    assert (outcome.marked, outcome.resumed) == (4 - done, done)
    assert len(set(first.salts + second.salts)) == 1
    if seed is not None:
        grade(tmp_path / "undisturbed", InProcess(sample), seed=seed)
        assert files_of(tmp_path / "out") == files_of(tmp_path / "undisturbed")


def test_what_was_handed_in_anew_is_marked_anew(tmp_path: Path, grade: Any, sample: Any, class_folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        grade(tmp_path / "out", first := InProcess(sample, stop_after=2))
    changed = first.marked[0]
    (class_folder / f"{changed}.py").write_text(sample.code(double="def double(x): return x / 2"))
    second = InProcess(sample)
    outcome = grade(tmp_path / "out", second)
    assert changed in second.marked
    assert first.marked[1] not in second.marked
    assert outcome.tally.rows["double"].mistakes["halved"].count == 1


@pytest.mark.parametrize("options", [{"seed": 2}, {"resume": False}])
def test_other_settings_start_afresh(tmp_path: Path, grade: Any, sample: Any, options: dict[str, Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        grade(tmp_path / "out", InProcess(sample, stop_after=2))
    engine = InProcess(sample)
    grade(tmp_path / "out", engine, **options)
    assert len(engine.marked) == 4
    if "seed" in options:
        assert grade.said == ["An interrupted run had other settings: everything is marked again."]


def test_regrading_keeps_earlier_results(tmp_path: Path, grade: Any, sample: Any, class_folder: Path) -> None:
    grade(tmp_path / "out", InProcess(sample))
    before = files_of(tmp_path / "out")
    (class_folder / "alice.py").write_text("double = lambda x: x / 2")
    outcome = grade(tmp_path / "out", InProcess(sample))
    assert outcome.earlier == tmp_path / "out" / "earlier" / "1"
    assert files_of(outcome.earlier) == before
    assert files_of(tmp_path / "out")["grades.csv"] != before["grades.csv"]


def test_a_fault_of_ours_is_said_to_be_ours(plan: Plan) -> None:
    marked = failed_submission(plan, "alice", [], "Something broke.")
    assert {result.state for result in marked.results} == {"fault"}
    assert "Something broke. This is our fault, not yours." in marked.results[0].message
    assert sum(result.score for result in marked.results) == 0


@pytest.mark.parametrize("where", ["journal", "reports"])
def test_a_full_disk_loses_nothing(
    where: str, tmp_path: Path, grade: Any, sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(tmp_path / "undisturbed", InProcess(sample))
    with monkeypatch.context() as patch:
        calm_add, calm_page = Journal.add, feedback.feedback_page

        def add(self: Journal, marked: GradedSubmission) -> None:
            if marked.student == "carol":
                with self.lines.open("ab") as file:  # half a line still found room
                    file.write(marked.to_json().encode()[:50])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            calm_add(self, marked)

        def page(assignment: Any, marked: GradedSubmission, marks: Any) -> str:
            if marked.student == "carol":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return calm_page(assignment, marked, marks)

        patch.setattr(Journal, "add", add) if where == "journal" else patch.setattr(feedback, "feedback_page", page)
        with pytest.raises(OSError, match="No space left on device"):
            grade(tmp_path / "out", InProcess(sample))
        assert not (tmp_path / "out" / "results.jsonl").exists()  # nothing that looks finished
    second = InProcess(sample)
    outcome = grade(tmp_path / "out", second)
    assert (outcome.resumed, "carol" in second.marked) == ((2, True) if where == "journal" else (4, False))
    assert files_of(tmp_path / "out") == files_of(tmp_path / "undisturbed")
