"""The command line: what it says to bad input, and what it hands to the rest of the course."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from qkv.cli import main

# DESIGN: the contract that others script against
CONTRACT = {
    "start": {"--no-browser", "--port"},
    "check": set(),
    "status": set(),
    "hint": set(),
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
        "--trust-submissions",
    },
    "export": {"--format", "--out"},
    "lint": set(),
    "build": {"--check", "--force"},
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


def test_help_does_not_wait_for_torch() -> None:
    script = (
        "import sys; from qkv.cli import main; main(['--help'], standalone_mode=False); print('torch' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "Commands:" in shown
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
        (["export", ".", "--format", "csv", "--out", "x.csv"], "Name a folder that `qkv grade --out` wrote."),
        (["export", ".", "--format", "pdf", "--out", "x"], "'pdf' is not one of"),
    ],
)
def test_bad_input(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert message in result.output
    assert result.exit_code == 2


def test_check_suggests_the_file_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "01_lookup.ipynb").write_text("{}")
    result = run("check", tmp_path / "01_lokup.ipynb")
    assert f"Did you mean {tmp_path / '01_lookup.ipynb'}?" in result.output
    assert result.exit_code == 2


def test_check_refuses_what_is_no_code(tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text("")
    result = run("check", tmp_path / "answer.txt")
    assert "neither a notebook (.ipynb) nor a .py file" in result.output
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
    pretend(monkeypatch, "qkv.checking", check_paths=lambda paths: seen.extend(paths) or 1)
    result = run("check", tmp_path, tmp_path / "b.py")
    assert seen == [tmp_path / "a.ipynb", tmp_path / "b.py", tmp_path / "b.py"]
    assert result.exit_code == 1


def test_start(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    pretend(monkeypatch, "qkv.serve", start=lambda **options: seen.update(options) or 0)
    assert run("start", "--no-browser", "--port", "9001").exit_code == 0
    assert seen == {"port": 9001, "browser": False}


def test_grade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    pretend(monkeypatch, "qkv.grading", grade=lambda *places, **options: seen.update(options, places=places) or 0)
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
        "trust_submissions": False,
    }


def test_grade_takes_a_chapter_for_its_exercises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    pretend(monkeypatch, "qkv.grading", grade=lambda *places, **options: seen.update(options) or 0)
    assert run("grade", tmp_path, "--out", tmp_path / "out", "--exercises", "lookup,split_heads").exit_code == 0
    assert seen["exercises"] == ["softmax", "similarity_scores", "soft_lookup", "SelfAttention", "split_heads"]


def test_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results.jsonl").write_text("")
    seen: list[Any] = []
    pretend(monkeypatch, "qkv.grading", export=lambda *given: seen.extend(given) or 0)
    assert run("export", tmp_path, "--format", "canvas", "--out", tmp_path / "c.csv").exit_code == 0
    assert seen == [tmp_path, "canvas", tmp_path / "c.csv"]


@pytest.mark.parametrize(("names", "handed_on"), [([], []), (["lookup", "softmax"], ["lookup", "softmax"])])
def test_lint(names: list[str], handed_on: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    pretend(monkeypatch, "qkv.lint", run=lambda given: seen.append(given) or 0)
    assert run("lint", *names).exit_code == 0
    assert seen == [handed_on]


@pytest.mark.parametrize(
    ("arguments", "handed_on"),
    [(["build"], (None, False, False)), (["build", "lookup", "--check"], (["lookup"], True, False))],
)
def test_build(arguments: list[str], handed_on: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []
    pretend(monkeypatch, "qkv.authoring", build=lambda *given: seen.append(given) or 1)
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
        "qkv.serve",
        build_book=lambda: seen.append("built") or built,
        serve_book=lambda: seen.append("served") or 0,
    )
    assert run(*arguments).exit_code == code
    assert seen == calls


# ---- the real thing, where it is quick


def test_hints_come_gentlest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from qkv.exercises import find

    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    shown = [run("hint", "softmax").output for _ in find("softmax").hints]
    for said, hint in zip(shown, find("softmax").hints, strict=True):
        assert hint in said


def test_status_names_the_next_exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    assert "Next: softmax" in run("status").output


def test_doctor_says_what_is_there() -> None:
    import torch

    result = run("doctor")
    assert result.exit_code == 0
    assert torch.__version__.partition("+")[0] in result.output
    assert "sandbox: " in result.output
    assert "in force" in result.output
