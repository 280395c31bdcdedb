"""`check(f)` in a notebook names the line of a mistake that has no name, and `hint` goes on from there."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from proctor.marking.live import namespace_of
from proctor.sandbox import Refused
from qkv import check, exercises, hint
from qkv.notebook import checking, edit_sandbox


def spread_of(t):
    return (t**2).mean(-2, keepdim=True)


def rms_norm(x, gamma, eps=1e-6):
    spread = spread_of(x)
    return x / (spread + eps).sqrt() * gamma


def softmax(scores, dim):
    powers = (scores - scores.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(0, keepdim=True) + powers.sum() * 1e-3


@pytest.fixture(autouse=True)
def progress(tmp_path, monkeypatch):
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))


def test_the_line_of_a_helper_is_found(monkeypatch):
    monkeypatch.setattr(checking, "SEARCH", 20.0)
    result = check(rms_norm)
    assert result.help == "located"
    assert result.line == spread_of.__code__.co_firstlineno + 1
    assert "One change in line" in result.message
    assert "look at the dimension" in result.message
    assert result.located is not None
    assert result.located.new == ""


def test_hints_go_one_step_further_each_time(monkeypatch):
    monkeypatch.setattr(checking, "SEARCH", 20.0)
    check(rms_norm)
    first, second, *_ = exercises.get("rms_norm").hints
    assert hint("rms_norm") == "The change was made to this piece of your code: `-2`."
    assert hint("rms_norm", more=True).startswith("A dimension was exchanged for another.")
    assert hint("rms_norm", more=True) == first
    check(rms_norm)
    assert hint("rms_norm") == second, "the same mistake is not told twice"


def test_nothing_of_the_students_changes(monkeypatch):
    monkeypatch.setattr(checking, "SEARCH", 0.2)
    before = dict(namespace_of(rms_norm))
    x = torch.randn(3, 4)
    values = rms_norm(x, torch.ones(4))
    check(rms_norm)
    assert namespace_of(rms_norm) == before
    assert torch.equal(rms_norm(x, torch.ones(4)), values)


def test_an_interrupt_ends_the_search_and_the_verdict_stays(monkeypatch):
    def interrupted(self: Any, tried: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(edit_sandbox.Progress, "show_tried", interrupted)
    result = check(rms_norm)
    assert result.state == "not_yet"
    assert result.help == "shown"


def test_a_line_says_what_takes_so_long(capsys):
    check(rms_norm)
    assert "Looking for the line: 60 small changes tried" in capsys.readouterr().err


def test_in_a_notebook_the_line_is_an_output_that_becomes_empty(monkeypatch, capsys):
    shown: list[tuple[str, str, bool]] = []

    class Shell:
        kernel = object()
        display_pub: Any = None

        def publish(self, data: dict[str, str], transient: dict[str, str], update: bool) -> None:
            shown.append((transient["display_id"], data["text/html"], update))

    shell = Shell()
    shell.display_pub = shell
    monkeypatch.setattr(edit_sandbox.kernel, "interactive", lambda: shell)
    line = edit_sandbox.Progress()
    line.show_tried(60)
    line.show_tried(120)
    line.end()
    assert capsys.readouterr().err == ""  # JupyterLab shows a red stripe for it
    assert len({display_id for display_id, _, _ in shown}) == 1
    assert ["120 small changes" in html for _, html, _ in shown] == [False, True, False]
    assert [update for *_, update in shown] == [False, True, True]
    assert shown[-1][1] == ""


def test_an_answer_without_a_text_is_judged_all_the_same():
    names: dict[str, Any] = {}
    exec("def rms_norm(x, gamma, eps=1e-6):\n    return x * gamma * 3", names)
    result = check(names["rms_norm"])
    assert result.state == "not_yet"
    assert result.located is None


def test_time_is_bounded(monkeypatch):
    """However many candidates there are, the search ends soon after its time: one batch later at most."""
    monkeypatch.setattr(checking, "SEARCH", 0.0)
    tried: list[int] = []
    monkeypatch.setattr(edit_sandbox.Progress, "show_tried", lambda self, count: tried.append(count))
    result = check(softmax)
    assert tried == []
    assert result.help in ("shown", "explained", "located")  # the trace alone


def without_a_sandbox(*args: Any) -> None:
    raise Refused("none works here")


KEEPS_THE_NEWEST = """\
import os
import torch


def rms_norm(x, gamma, eps=1e-6):
    files = sorted(os.listdir({folder!r}), reverse=True)
    for old in files[3:]:
        os.remove(os.path.join({folder!r}, old))
    return x / ((x**2).mean(-2, keepdim=True) + eps).sqrt() * gamma
"""


@pytest.mark.parametrize("walls", [True, False])
@pytest.mark.parametrize("how", ["check", "qkv check"])
def test_an_edited_answer_deletes_no_file_of_the_students(how, walls, tmp_path, monkeypatch):
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.txt").write_text("")
    if not walls:
        monkeypatch.setattr(edit_sandbox, "choose", without_a_sandbox)
        edit_sandbox.close()
    path = tmp_path / "work.py"
    path.write_text(KEEPS_THE_NEWEST.format(folder=str(folder)))
    if how == "check":
        names: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        result = check(names["rms_norm"])
    else:
        (result,), _ = checking.check_file(path)
    assert result.state in ("not_yet", "stopped")  # to delete files at all is refused, as in the sandbox
    assert {"3.txt", "4.txt", "5.txt"} <= {file.name for file in folder.iterdir()}


def test_without_a_sandbox_an_answer_that_only_computes_is_searched_here(monkeypatch):
    monkeypatch.setattr(edit_sandbox, "choose", without_a_sandbox)
    monkeypatch.setattr(checking, "SEARCH", 20.0)
    edit_sandbox.close()
    result = check(rms_norm)
    assert (result.help, result.line) == ("located", spread_of.__code__.co_firstlineno + 1)


def test_a_text_that_does_something_else_is_not_searched(monkeypatch):
    """What the text of an answer does is not what the answer did: a global was changed since."""
    monkeypatch.setattr(checking, "SEARCH", 20.0)
    monkeypatch.setitem(rms_norm.__globals__, "spread_of", lambda t: (t**3).mean(-1, keepdim=True))
    result = check(rms_norm)
    assert (result.state, result.located) == ("not_yet", None)
