"""The command line: what it says to bad input, and what it hands to the rest of the course."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from qkv import exercises
from qkv.commands.cli import FOR, main

# DESIGN: the contract that others script against
CONTRACT = {
    "start": {"--no-browser", "--port"},
    "check": set(),
    "status": set(),
    "hint": {"--more"},
    "stub": {"--out"},
    "watch": set(),
    "review": set(),
    "update": {"--no-pull"},
    "hand-in": {"--out"},
    "grade": {
        "--out",
        "--jobs",
        "--engine",
        "--scheduler",
        "--timeout",
        "--memory",
        "--exercises",
        "--seed",
        "--no-resume",
        "--roster",
        "--policy",
        "--times",
        "--form",
        "--trust-submissions",
    },
    "export": {"--format", "--out", "--roster", "--policy", "--times"},
    "release": {
        "--to",
        "--student",
        "--exercises",
        "--anonymous",
        "--roster",
        "--policy",
        "--times",
    },
    "review-class": {"--submissions", "--port", "--no-browser"},
    "new": set(),
    "lint": {"--salts", "--jobs", "--changed", "--turn", "--alone"},
    "build": {"--check", "--force", "--second-seeds"},
    "book": {"--serve"},
    "doctor": set(),
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def pretend(monkeypatch: pytest.MonkeyPatch, module: str, **functions: Any) -> None:
    """Put a stand-in where a command looks its implementation up."""
    stand_in = types.ModuleType(module)
    vars(stand_in).update(functions)
    monkeypatch.setitem(sys.modules, module, stand_in)
    package, _, name = module.rpartition(".")
    monkeypatch.setattr(sys.modules[package], name, stand_in, raising=False)


def test_the_contract() -> None:
    assert set(main.commands) == set(CONTRACT)
    for name, options in CONTRACT.items():
        offered = {word for parameter in main.commands[name].params for word in parameter.opts if word.startswith("--")}
        assert offered == options


@pytest.mark.parametrize("command", CONTRACT)
def test_every_command_explains_itself(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.output.splitlines()[2]) > 15, "a sentence that says what it does"


def test_the_first_screen_lists_every_command_once_by_who_needs_it() -> None:
    assert sorted(name for names in FOR.values() for name in names) == sorted(main.commands)
    lines = run("--help").output.splitlines()
    assert max(map(len, lines)) < 80
    for title, names in FOR.items():
        below = lines[lines.index(f"{title}:") + 1 :][: len(names)]
        assert [line.split()[0] for line in below] == list(names)
        assert [line for line in below if not line.endswith(".") or line.endswith("..")] == [], "whole sentences"


def test_help_does_not_wait_for_torch() -> None:
    script = (
        "import sys; from qkv.commands.cli import main; "
        "main(['--help'], standalone_mode=False); print('torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "For students:" in shown
    assert shown.splitlines()[-1] == "False"


# ---- bad input: what was wrong, and what was perhaps meant; exit code 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["strat"], "There is no command 'strat'. Did you mean start?"),
        (["check"], "Missing argument 'PATH...'"),
        (["check", "nowhere/01_lookup.ipynb"], "There is no file nowhere/01_lookup.ipynb."),
        (["hint"], "Missing argument 'EXERCISE'"),
        (["hint", "sofmax"], "There is no exercise 'sofmax'. Did you mean softmax"),
        (["lint", "lokup"], "There is no exercise 'lokup'."),
        (["start", "--port", "70000"], "70000 is not in the range"),
        (["grade", "nowhere", "--out", "x"], "Directory 'nowhere' does not exist."),
        (["grade", "."], "Missing option '--out'"),
        (["grade", ".", "--out", "x", "--jobs", "0"], "0 is not in the range x>=1"),
        (["grade", ".", "--out", "x", "--engine", "ray"], "'ray' is not one of 'local', 'dask'"),
        (["grade", ".", "--out", "x", "--scheduler", "tcp://h:1"], "add --engine dask."),
        (["grade", ".", "--out", "x", "--exercises", "softmax,sofmax"], "Did you mean softmax"),
        (["grade", ".", "--out", "x", "--timeout", "nan"], "nan is not a number of seconds."),
        (["grade", ".", "--out", "x", "--timeout", "inf"], "inf is not in the range 0<x<=86400."),
        (["grade", ".", "--out", "x", "--timeout", "-inf"], "-inf is not in the range 0<x<=86400."),
        (["grade", ".", "--out", "x", "--timeout", "0"], "0.0 is not in the range 0<x<=86400."),
        (["grade", ".", "--out", "x", "--memory", "99999999999"], "99999999999 is not in the range 64<=x<=1048576."),
        (["grade", ".", "--out", "x", "--exercises", ",,"], "--exercises names nothing. Give names of exercises"),
        (["grade", ".", "--out", "x", "--exercises", ""], "--exercises names nothing. Give names of exercises"),
        (["grade", ".", "--out", "x", "--exercises", " , "], "--exercises names nothing. Give names of exercises"),
        (["grade", ".", "--out", "x", "--roster", "nowhere.csv"], "File 'nowhere.csv' does not exist."),
        (["export", ".", "--format", "csv", "--out", "."], "File '.' is a directory."),
        (["export", ".", "--format", "csv", "--out", "x.csv"], "Name a folder that `qkv grade --out` wrote."),
        (["export", ".", "--format", "pdf", "--out", "x"], "'pdf' is not one of"),
    ],
)
def test_bad_input(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert message in result.output
    assert result.exit_code == 2


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "anna.py").write_text("x = 1")
    return tmp_path / "class"


def in_one_sentence(result: Result, code: int, message: str) -> None:
    """No traceback, nothing before or behind."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert [line for line in result.output.splitlines() if line and not line.startswith(("Usage:", "Try "))] == [
        message
    ]
    assert result.exit_code == code


def test_results_that_cannot_be_written_there(room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    in_one_sentence(
        run("grade", room, "--out", "file/out"),
        2,
        "Error: file/out cannot be written (Not a directory). Name another place with --out.",
    )
    assert "Directory 'file' is a file." in run("grade", room, "--out", "file").output
    message = f"Error: Results cannot go into {room} itself: name another folder with --out."
    in_one_sentence(run("grade", room, "--out", room), 2, message)


def test_a_place_that_is_only_for_reading(room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "somewhere")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)  # root writes everywhere
    message = f"Error: {tmp_path / 'out'} cannot be written (Read-only file system). Name another place with --out."
    in_one_sentence(run("grade", room, "--out", tmp_path / "out"), 2, message)
    (tmp_path / "results.jsonl").write_text("")
    message = f"Error: {tmp_path / 'c.csv'} cannot be written (Read-only file system). Name another place with --out."
    in_one_sentence(run("export", tmp_path, "--format", "csv", "--out", tmp_path / "c.csv"), 2, message)


def test_a_class_that_cannot_be_read(room: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "iterdir", refuse)
    message = f"Error: {room} cannot be read (Permission denied: {room})."
    in_one_sentence(run("grade", room, "--out", tmp_path / "out"), 2, message)


def test_a_roster_that_is_none(room: Path, tmp_path: Path) -> None:
    (tmp_path / "who.csv").write_text("name,mark\n")
    why = "it has no column folder and no column id; its first line is 'name,mark', and folder,id,name is expected"
    message = f"Error: The roster {tmp_path / 'who.csv'} cannot be used: {why}."
    in_one_sentence(run("grade", room, "--out", tmp_path / "out", "--roster", tmp_path / "who.csv"), 2, message)
    (tmp_path / "results.jsonl").write_text("")
    words = ("export", tmp_path, "--format", "csv", "--out", tmp_path / "c.csv", "--roster", tmp_path / "who.csv")
    in_one_sentence(run(*words), 2, message)
    (tmp_path / "who.csv").rename(tmp_path / "roster.csv")  # where `qkv grade` leaves it
    in_one_sentence(run(*words[:-2]), 2, message.replace("who.csv", "roster.csv"))


def test_a_disk_that_is_full_while_exporting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from proctor.report import lms

    def full(book: Any, out: Path) -> None:
        out.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setitem(lms.FORMATS, "csv", full)
    (tmp_path / "results.jsonl").write_text("")
    message = f"Not exported to {tmp_path / 'c.csv'}: No space left on device."
    in_one_sentence(run("export", tmp_path, "--format", "csv", "--out", tmp_path / "c.csv"), 1, message)
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_check_suggests_the_file_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "01_lookup.ipynb").write_text("{}")
    result = run("check", tmp_path / "01_lokup.ipynb")
    assert f"Did you mean {tmp_path / '01_lookup.ipynb'}?" in result.output
    assert result.exit_code == 2


def test_check_refuses_what_is_no_code(tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text("")
    result = run("check", tmp_path / "answer.txt")
    assert "neither a notebook (.ipynb) nor a .py file, nor weights (.safetensors)" in result.output
    assert result.exit_code == 2


def test_check_refuses_a_folder_without_code(tmp_path: Path) -> None:
    result = run("check", tmp_path)
    assert "There is no notebook and no .py file in" in result.output
    assert result.exit_code == 2


# ---- what commands hand on


def test_check_hands_on_files_and_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.py", "a.ipynb", "notes.txt"):
        (tmp_path / name).write_text("")
    seen: list[Path] = []
    pretend(monkeypatch, "qkv.notebook.checking", check_paths=lambda paths: seen.extend(paths) or 1)
    result = run("check", tmp_path, tmp_path / "b.py")
    assert seen == [tmp_path / "a.ipynb", tmp_path / "b.py", tmp_path / "b.py"]
    assert result.exit_code == 1


def test_start(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    pretend(monkeypatch, "qkv.commands.start", serve_course=lambda **options: seen.update(options) or 0)
    assert run("start", "--no-browser", "--port", "9001").exit_code == 0
    assert seen == {"port": 9001, "browser": False}


def test_grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    pretend(
        monkeypatch,
        "qkv.commands.grading",
        grade_submissions=lambda *places, **options: seen.update(options, places=places) or 0,
    )
    out = tmp_path / "out"
    assert (
        run(
            "grade", tmp_path, "--out", out, "--exercises", "softmax, soft_lookup", "--seed", "7", "--no-resume"
        ).exit_code
        == 0
    )
    assert seen == {
        "places": (tmp_path, out),
        "jobs": None,
        "engine": "local",
        "scheduler": None,
        "timeout": 30.0,
        "memory": 2048,
        "exercises": ["softmax", "soft_lookup"],
        "seed": 7,
        "resume": False,
        "roster": None,
        "form": None,
        "policy": None,
        "times": None,
        "trust_submissions": False,
    }


def test_grade_takes_a_chapter_for_its_exercises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    pretend(monkeypatch, "qkv.commands.grading", grade_submissions=lambda *places, **options: seen.update(options) or 0)
    assert run("grade", tmp_path, "--out", tmp_path / "out", "--exercises", "lookup,split_heads").exit_code == 0
    assert seen["exercises"] == [*exercises.names_of("lookup"), "split_heads"]


def test_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results.jsonl").write_text("")
    seen: list[Any] = []
    pretend(monkeypatch, "qkv.commands.grading", export_class=lambda *given: seen.extend(given) or 0)
    (tmp_path / "who.csv").write_text("")
    assert run("export", tmp_path, "--format", "canvas", "--out", tmp_path / "c.csv").exit_code == 0
    assert seen == [tmp_path, "canvas", tmp_path / "c.csv", None, None, None]
    seen.clear()
    assert (
        run(
            "export", tmp_path, "--format", "csv", "--out", tmp_path / "c.csv", "--roster", tmp_path / "who.csv"
        ).exit_code
        == 0
    )
    assert seen == [tmp_path, "csv", tmp_path / "c.csv", tmp_path / "who.csv", None, None]


@pytest.mark.parametrize(("names", "handed_on"), [([], []), (["lookup", "softmax"], ["lookup", "softmax"])])
def test_lint(names: list[str], handed_on: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    pretend(monkeypatch, "qkv.authoring.write.lint", run_lint=lambda given, *_: seen.append(given) or 0)
    assert run("lint", *names).exit_code == 0
    assert seen == [handed_on]


@pytest.mark.parametrize(
    ("arguments", "handed_on"),
    [
        (["--changed"], ["softmax", "rotate"]),
        (["--turn"], exercises.names()[2::4]),
        (["--changed", "--turn"], ["softmax", "rotate", *(n for n in exercises.names()[2::4] if n != "rotate")]),
        (["heads", "--changed"], ["heads", "softmax", "rotate"]),
    ],
)
def test_lint_of_what_changed_and_whose_turn_it_is(
    arguments: list[str], handed_on: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    monkeypatch.setenv("QKV_DAY", "2")
    monkeypatch.delenv("QKV_ALL", raising=False)
    pretend(monkeypatch, "qkv.authoring.write.lint", run_lint=lambda given, *_: seen.append(given) or 0)
    pretend(monkeypatch, "qkv.authoring.write.changed", changed_exercises=lambda root: ["softmax", "rotate"])
    assert run("lint", *arguments).exit_code == 0
    assert seen == [handed_on]


def test_lint_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "qkv.authoring.write.changed", changed_exercises=lambda root: [])
    done = run("lint", "--changed")
    assert (done.exit_code, done.output) == (0, "No exercise changed since main: nothing to prove.\n")


@pytest.mark.parametrize(
    ("arguments", "handed_on"),
    [
        (["build"], (None, False, False, False)),
        (["build", "lookup", "--check"], (["lookup"], True, False, False)),
        (["build", "--second-seeds"], (None, False, False, True)),
    ],
)
def test_build(arguments: list[str], handed_on: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []
    pretend(monkeypatch, "qkv.authoring.build.building", build_editions=lambda *given: seen.append(given) or 1)
    assert run(*arguments).exit_code == 1
    assert seen == [handed_on]


@pytest.mark.parametrize(
    ("arguments", "built", "calls", "code"),
    [
        (["book"], 0, ["built"], 0),
        (["book", "--serve"], 0, ["built", "served"], 0),
        (["book", "--serve"], 1, ["built"], 1),
    ],
)
def test_book(arguments: list[str], built: int, calls: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    pretend(
        monkeypatch,
        "qkv.commands.start",
        build_book=lambda root: seen.append("built") or built,
        serve_book=lambda place: seen.append("served") or 0,
    )
    assert run(*arguments).exit_code == code
    assert seen == calls


# ---- the real thing, where it is quick


def test_a_file_that_lies_with_the_notebooks_is_pointed_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "tiny_gpt.safetensors").touch()
    monkeypatch.chdir(tmp_path)
    assert "but there is notebooks/tiny_gpt.safetensors" in run("check", "tiny_gpt.safetensors").output


def test_hints_come_gentlest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qkv.exercises import get_code

    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    shown = [run("hint", "softmax", "--more").output for _ in get_code("softmax").hints]
    for said, hint in zip(shown, get_code("softmax").hints, strict=True):
        assert hint in said


def test_status_names_the_next_exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    assert "Next: 1.1 softmax, in Queries, keys, values (about" in run("status").output


def test_doctor_says_what_is_there() -> None:
    import torch

    result = run("doctor")
    assert result.exit_code == 0
    assert torch.__version__.partition("+")[0] in result.output
    assert "sandbox: " in result.output
    assert "in force" in result.output
