"""The course as something that is graded, and `qkv grade` on the sample class from the command line."""

from __future__ import annotations

import ast
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proctor.grading.folder_lock import NAME, locked
from qkv import exercises
from qkv.commands import grading

CHAPTERS = ["softmax", "similarity_scores", "soft_lookup", "SelfAttention"]


def test_a_sheet_per_chapter_in_order() -> None:
    assignment = grading.assignment()
    assert [e.name for e in assignment.exercises] == exercises.names()
    assert assignment.sheets[0].title == "Chapter 01: lookup"


def test_a_chapter_may_import_what_earlier_chapters_built_and_nothing_else() -> None:
    sheets = grading.assignment().sheets
    built: set[str] = set()
    for sheet in sheets:
        assert set(sheet.modules) == {"qkv.model.expect", *built}
        assert sheet.module not in sheet.modules
        built.add(sheet.module)
    assert sheets[1].earlier["softmax"] == "qkv.model.lookup"


@pytest.mark.parametrize("chosen", [None, ("softmax",), ("layer_norm",), ("lstm_step",)])
def test_what_helps_everybody_holds_no_answer(chosen: tuple[str, ...] | None) -> None:
    helps = grading.assignment(chosen).public_modules
    assert list(helps) == ["qkv.model.expect"]
    answers = {name for sheet in grading.assignment().sheets for name in sheet.names}
    assert not answers & {node.name for node in ast.walk(ast.parse(helps["qkv.model.expect"])) if hasattr(node, "name")}


def test_some_exercises_alone() -> None:
    assignment = grading.assignment(("soft_lookup", "scaled_dot_product_attention"))
    assert [e.name for e in assignment.exercises] == ["soft_lookup", "scaled_dot_product_attention"]
    assert assignment.sheets[0].before("soft_lookup") == ("softmax", "similarity_scores")


@pytest.mark.parametrize("name", exercises.of_code())
def test_what_is_handed_out_before_an_exercise_runs_and_does_not_hold_it(name: str) -> None:
    stem = exercises.chapter_of(name)
    (sheet,) = grading.assignment((name,)).sheets
    text = sheet.reference_before(name)
    names: dict[str, object] = {}
    exec(compile(text, stem, "exec"), names)
    position = exercises.names_of(stem).index(name)
    assert set(exercises.names_of(stem)[:position]) <= set(names)
    later = exercises.names_of(stem)[position:]
    assert not any(f"def {other}(" in text or f"class {other}(" in text for other in later)


# ---- the command, on the sample class


def command(room: Path, out: Path) -> list[str]:
    options = ["--jobs", "2", "--seed", "7", "--timeout", "6", "--memory", "512", "--exercises", ",".join(CHAPTERS)]
    return [sys.executable, "-m", "qkv", "grade", str(room), "--out", str(out), *options]


@pytest.fixture(scope="module")
def graded(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("graded") / "out"
    done = subprocess.run(command(root / "examples" / "class", out), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Open" in done.stdout
    return out


def rows(out: Path) -> dict[tuple[str, str], dict[str, object]]:
    found = map(json.loads, (out / "results.jsonl").open(encoding="utf-8"))
    return {(row["student"], row["exercise"]): row for row in found}


@pytest.mark.slow
@pytest.mark.parametrize("student", ["ada", "benedikt", "dalia", "emil", "samuel", "陈 伟"])
def test_right_answers_in_any_style_and_any_file_pass(graded: Path, student: str) -> None:
    found = rows(graded)
    assert {name: found[student, name]["state"] for name in CHAPTERS} == dict.fromkeys(CHAPTERS, "passed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("student", "exercise", "misconception"),
    [
        ("gustav", "softmax", "overflows"),
        ("katya", "softmax", "shifted_by_the_global_maximum"),
        ("priya", "softmax", "always_the_last_dimension"),
        ("liang", "similarity_scores", "cosine_instead_of_dot"),
        ("katya", "soft_lookup", "softmax_over_queries"),
        ("rosa", "soft_lookup", "hard_lookup"),
        ("noor", "SelfAttention", "QueriesAndKeysSwapped"),
    ],
)
def test_mistakes_are_named(graded: Path, student: str, exercise: str, misconception: str) -> None:
    row = rows(graded)[student, exercise]
    assert (row["state"], row["misconception"]) == ("not_yet", misconception)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("student", "exercise", "said"),
    [
        ("viktor", "softmax", "cell 2 of 01_lookup.ipynb has a syntax error in line 1"),
        ("mallory_loop", "soft_lookup", "Your code did not end in the time that it is given: 6 s of processor time"),
        ("mallory_exit", "softmax", "Your code ended its own process"),
        ("mallory_flood", "softmax", "Your code printed more than"),
        ("mallory_builtin", "softmax", "You call torch's own softmax"),
        ("mallory_builtin", "soft_lookup", "You call torch's fused attention"),
        ("mallory_reference", "similarity_scores", "Your code raised "),
    ],
)
def test_broken_and_hostile_answers_earn_nothing_and_say_why(
    graded: Path, student: str, exercise: str, said: str
) -> None:
    row = rows(graded)[student, exercise]
    assert row["score"] == 0
    assert said in str(row["message"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("student", "said"), [("wanda", "wanda.ipynb is empty."), ("xavier", "it is not a notebook (not valid JSON)")]
)
def test_a_file_that_cannot_be_read_is_told_once(graded: Path, student: str, said: str) -> None:
    assert {row["state"] for (who, _), row in rows(graded).items() if who == student} == {"not_started"}
    assert (graded / "feedback" / f"{student}.html").read_text("utf-8").count(said) == 1


@pytest.mark.slow
def test_a_run_that_is_killed_and_started_again_gives_the_same_files(graded: Path, root: Path, tmp_path: Path) -> None:
    words = command(root / "examples" / "class", tmp_path / "out")
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = tmp_path / "out" / ".grading" / "journal.jsonl"
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") >= 5):
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    marked = journal.read_bytes().count(b"\n")
    assert 5 <= marked < 33
    second = subprocess.run(words, capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    assert f"{marked} of 33 submissions are marked" in second.stderr
    files = {path.relative_to(graded) for path in graded.rglob("*") if path.is_file()}
    assert files == {path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert [name for name in files if (graded / name).read_bytes() != (tmp_path / "out" / name).read_bytes()] == []


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "class" / ".anna").mkdir(parents=True)
    (tmp_path / "class" / "ben.py").write_text("x = 1")
    (tmp_path / "class" / "cleo.py").write_text("x = 1")
    return tmp_path / "class"


def test_a_disk_that_is_full_while_grading(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*given: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(grading, "grade_class", full)
    assert grading.grade_submissions(room, tmp_path / "out") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"Not finished: No space left on device. What is marked so far is kept in {tmp_path / 'out'}: "
        "the same command goes on from there."
    )


def test_a_second_grader_changes_nothing_of_the_first(
    room: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "roster.csv").write_text("folder,id,name\nben,1,Ben\n")
    (tmp_path / "other.csv").write_text("folder,id,name\nben,2,Ben\n")
    with locked(out):
        assert grading.grade_submissions(room, out, roster=tmp_path / "other.csv") == 1
        assert {path.name for path in out.iterdir()} == {NAME, "roster.csv"}
    assert capsys.readouterr().err.startswith("Not graded: another grader is writing into")
    assert (out / "roster.csv").read_text() == "folder,id,name\nben,1,Ben\n"


def test_what_is_ignored_and_who_is_missing_is_said(
    room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "grade_class", nothing)
    (tmp_path / "who.csv").write_text("folder,id,name\nben,1,Ben\ndora,2,Dora\n")
    grading.grade_submissions(room, tmp_path / "out", roster=tmp_path / "who.csv")
    said = capsys.readouterr().err.splitlines()
    assert said[:3] == [
        "Ignored: .anna", "Not in the roster: cleo.", "In the roster and without a submission: dora."
    ]  # fmt: skip
    assert (tmp_path / "out" / "roster.csv").read_bytes() == (tmp_path / "who.csv").read_bytes()


def test_an_export_finds_the_roster_of_the_grading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"student": "ben", "exercise": "softmax", "state": "passed", "score": 1.0, "message": "", "seconds": 0}
    (tmp_path / "results.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "roster.csv").write_text("folder,id,name\nben,17,Ben Bo\ndora,2,Dora\n")
    assert grading.export_class(tmp_path, "canvas", tmp_path / "c.csv") == 0
    assert (tmp_path / "c.csv").read_text().splitlines()[2:] == ["Ben Bo,17,,,,1", "Dora,2,,,,"]
    assert capsys.readouterr().err == "In the roster and without a submission: dora.\n"
    (tmp_path / "other.csv").write_text("folder,id,name\nben,18,Ben\n")
    assert grading.export_class(tmp_path, "canvas", tmp_path / "c.csv", tmp_path / "other.csv") == 0
    assert (tmp_path / "c.csv").read_text().splitlines()[2:] == ["Ben,18,,,,1"]


def test_a_folder_without_submissions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").touch()
    assert grading.grade_submissions(tmp_path, tmp_path / "out") == 1
    assert "There is no submission in" in capsys.readouterr().err
