"""A verdict is about the code on the screen, or says that it is not; nothing hangs; nothing floods."""

from __future__ import annotations

import builtins
import json
import linecache
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from proctor import Result
from proctor.inside.nobody import asks_nobody
from proctor.report import terminal
from proctor.report.notebook import card
from proctor.sandbox import Limits
from qkv.notebook import kernel
from qkv.notebook.checking import check_named, check_paths

RIGHT = """import torch
def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""
BROKEN = RIGHT.replace("scores.amax(dim, keepdim=True))", "scores.amax(dim, keepdim=True)")
LOOP = "def softmax(scores, dim):\n    i = 0\n    while i < 10:\n        pass\n    return scores\n"
PRINTS = RIGHT.replace("    powers =", "    print('shape', tuple(scores.shape))\n    powers =")


class Notebook:
    """A kernel without a browser."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance()
        self.run("from qkv import check\nfrom qkv.notebook import kernel\nkernel.install_hook()")

    def run(self, text: str) -> Any:
        return self.shell.run_cell(text, store_history=True).result


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(kernel, "_cells", [])
    made = Notebook()
    yield made
    made.shell.events.unregister("post_run_cell", kernel.on_cell_run)
    InteractiveShell.clear_instance()


def test_after_a_syntax_error_nothing_is_passed(notebook: Notebook) -> None:
    notebook.run(RIGHT)
    assert notebook.run("check(softmax)").state == "passed"
    notebook.run(BROKEN)
    result = notebook.run("check(softmax)")
    assert result.state == "stopped"
    assert "The last version of `softmax` that you ran did not get through: SyntaxError in line 3: '(' was never" in (
        result.message
    )
    notebook.run(RIGHT)
    assert notebook.run("check(softmax)").state == "passed"


def test_a_version_that_raised_before_it_was_defined(notebook: Notebook) -> None:
    notebook.run(RIGHT)
    notebook.run("1 / 0\n" + RIGHT)
    assert "did not get through: ZeroDivisionError: division by zero." in notebook.run("check(softmax)").message


def test_a_version_that_raised_afterwards_is_the_one_that_is_checked(notebook: Notebook) -> None:
    notebook.run(RIGHT + "1 / 0\n")
    assert notebook.run("check(softmax)").state == "passed"


def test_a_cell_that_no_longer_defines_the_answer(notebook: Notebook) -> None:
    """The kernel keeps `softmax`, and what is on the screen is `softmaxx`."""
    notebook.shell.run_cell(RIGHT, store_history=True, cell_id="a1")
    assert notebook.run("check(softmax)").state == "passed"
    renamed = RIGHT.replace("def softmax(", "def softmaxx(")
    notebook.shell.run_cell(renamed, store_history=True, cell_id="a1")
    result = notebook.run("check(softmax)")
    assert (result.state, result.score) == ("stopped", 0.0)
    assert "The cell that defined `softmax` defines it no longer" in result.message
    notebook.shell.run_cell(RIGHT, store_history=True, cell_id="a2")
    assert notebook.run("check(softmax)").state == "passed"
    notebook.shell.run_cell("1 + 1", store_history=True, cell_id="a1")
    assert notebook.run("check(softmax)").state == "passed", "it comes from another cell now"


def test_a_failure_of_another_cell_does_not_matter(notebook: Notebook) -> None:
    notebook.run(RIGHT)
    notebook.run("def similarity_scores(")
    notebook.run("softmax(1)")
    assert notebook.run("check(softmax)").state == "passed"


def test_the_line_is_found_in_another_cell(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    """With imports, numbers and functions that stand in other cells, the newest version of each."""
    monkeypatch.setattr("qkv.notebook.checking.SEARCH", 20.0)
    notebook.run("import math\nfrom torch import sqrt as root\nONE = 1.0")
    notebook.run("def spread_of(t):\n    return t\n")
    notebook.run("ONE *= 1\n\n\ndef spread_of(t):\n    return ONE * (t**2).mean(-2, keepdim=True)\n")
    notebook.run("def rms_norm(x, gamma, eps=1e-6):\n    return x / root(spread_of(x) + eps) * gamma")
    result = notebook.run("check(rms_norm)")
    assert (result.state, result.help, result.line) == ("not_yet", "located", 5), result.message
    assert "line 5 of `spread_of`" in result.message


def test_a_lambda_is_found_by_the_name_that_it_was_given(notebook: Notebook) -> None:
    text = "softmax = lambda s, dim: (s - s.logsumexp(dim, keepdim=True)).exp()"
    notebook.run("import torch\n" + text)
    result = notebook.run("check(softmax)")
    assert (result.exercise, result.state) == ("softmax", "passed")


def test_what_is_imported_from_the_course_is_no_answer(notebook: Notebook) -> None:
    notebook.run("from qkv.model.lookup import softmax")
    result = notebook.run("check(softmax)")
    assert result.state == "not_started"
    assert "This softmax is ours." in result.message


def live(text: str) -> Any:
    file = "<ipython-input-7>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"torch": torch}
    exec(compile(text, file, "exec"), names)
    return names["softmax"]


def test_an_endless_loop_is_a_card_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qkv.notebook.checking.LIMITS", Limits(seconds=0.3))
    result = check_named("softmax", live(LOOP))
    assert (result.state, result.help) == ("stopped", "located")
    assert result.line in (3, 4)
    assert "Your code was still running after 0.3 s, at line" in result.message
    assert "proctor" not in result.message


def test_an_interrupt_is_the_same_card(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupts(scores: Any, dim: int) -> Any:
        raise KeyboardInterrupt

    result = check_named("softmax", interrupts)
    assert result.state == "stopped"
    assert result.explanations[0].sentence.startswith("You interrupted the check, at test_kernel.py, line")


def test_an_endless_loop_in_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("qkv.notebook.checking.LIMITS", Limits(seconds=0.5))
    path = tmp_path / "work.ipynb"
    scores = "def similarity_scores(q, k):\n    return q @ k.transpose(-1, -2)\n"
    cells = [{"cell_type": "code", "source": text} for text in ("import torch", LOOP, scores)]
    path.write_text(json.dumps({"cells": cells}))
    assert check_paths([path]) == 1
    told = capsys.readouterr().out
    assert "Your code was still running after 0.5 s, at cell 2 of work.ipynb, line" in told
    assert "similarity_scores: passed" in told  # the others get their turn


def test_prints_are_shown_once_and_folded(capsys: pytest.CaptureFixture[str]) -> None:
    result: Result = check_named("softmax", live(PRINTS))
    assert result.state == "passed"
    assert capsys.readouterr().out == ""
    assert result.printed == "shape (2, 3, 5)\n"
    assert "<details><summary>What your code printed, the first time</summary><pre>shape (2, 3, 5)" in card(result)
    assert "printed" not in terminal.terminal_text(result)  # it passed: nobody needs to read that
    wrong = check_named("softmax", live(PRINTS.replace("/ powers.sum(dim, keepdim=True)", "")))
    assert terminal.terminal_text(wrong).endswith("Your code printed:\n  shape (2, 3, 5)")


def test_a_flood_of_prints_is_a_card() -> None:
    result = check_named("softmax", live("def softmax(scores, dim):\n    while True:\n        print('x' * 10_000)\n"))
    assert result.state == "stopped"
    assert "Your code printed more than 8,388,608 characters, at line 3" in result.message


def test_an_older_version_is_no_part_of_the_answer_whose_line_is_named(notebook):
    notebook.run("import torch\ndef softmax(scores, dim):\n    return scores.exp()")
    notebook.run(
        "def softmax(scores, dim):\n"
        "    powers = torch.exp(scores - scores.amax(dim, keepdim=True))\n"
        "    return powers / powers.sum(dim, True).sqrt()"
    )
    result = notebook.run("check(softmax)")
    assert result.line == 3
    assert "One change in line 3, `return powers / powers.sum(dim, True).sqrt()`, makes all" in result.message


@pytest.mark.parametrize("ends", ["exit()", "quit()", "raise SystemExit"])
def test_an_answer_that_leaves_does_not_end_the_kernel(notebook: Notebook, ends: str) -> None:
    left = []
    notebook.shell.ask_exit = lambda: left.append(True)
    notebook.run(f"def softmax(scores, dim):\n    {ends}\n")
    result = notebook.run("check(softmax)")
    assert "SystemExit" in result.message
    assert left == []
    notebook.run("exit()")
    assert left == [True]


def test_nobody_answers_an_input(notebook: Notebook) -> None:
    notebook.run("def softmax(scores, dim):\n    return scores * float(input('how much? '))\n")
    result = notebook.run("check(softmax)")
    assert "EOFError: nobody answers `input()` while an answer is checked" in result.message
    assert builtins.input is not asks_nobody
