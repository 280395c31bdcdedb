"""check, hint and status as a student meets them."""

import json
import re
import sys
from html import escape

import pytest
import torch

from qkv import check, course, exercises, hint, reset, skip, status
from qkv.notebook import progress
from qkv.notebook.checking import check_paths


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    path = tmp_path / "progress.json"
    monkeypatch.setenv("QKV_PROGRESS", str(path))
    return path


IN_LOOKUP = len(exercises.of_chapter("lookup"))
RIGHT = """
def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""
WRONG = "def softmax(scores, dim):\n    return scores.exp() / scores.exp().sum(dim, keepdim=True)\n"
STUB = "def softmax(scores, dim):\n    raise NotImplementedError\n"
LOOKUP = "def soft_lookup(q, k, v):\n    return softmax(similarity_scores(q, k), -1) @ v\n"


def notebook(*cells: str) -> dict:
    namespace = {"torch": torch, "__name__": "__main__"}
    for cell in cells:
        exec(compile(cell, "<ipython-input-1>", "exec"), namespace)
    return namespace


def test_from_stub_to_passed():
    assert check(notebook(STUB)["softmax"]).state == "not_started"
    wrong = check(notebook(WRONG)["softmax"])
    assert (wrong.state, wrong.misconceptions) == ("not_yet", ("overflows",))
    assert check(notebook(RIGHT)["softmax"]).state == "passed"
    assert re.search(rf"Queries, keys, values +█+░+ 1 of {IN_LOOKUP}\n", str(status()))
    assert "Next: 1.2 similarity_scores, in Queries, keys, values (about 5 minutes, ●○○)." in str(status())


def test_an_earlier_mistake_does_not_show_in_a_later_exercise():
    scores = "def similarity_scores(q, k):\n    return q * 0\n"
    namespace = notebook(WRONG, scores, LOOKUP)
    before = dict(namespace)
    assert check(namespace["soft_lookup"]).state == "passed"
    assert namespace == before  # and the student's own functions are back in place


def test_what_has_passed_stays_passed(kept):
    check(notebook(RIGHT)["softmax"])
    check(notebook(WRONG)["softmax"])
    assert json.loads(kept.read_text())["states"] == {"softmax": "passed"}


def test_hints_get_plainer_and_then_the_solution_is_named():
    hints = exercises.get("softmax").hints
    shown = [str(hint("softmax", more=True)) for _ in range(5)]
    assert [text[: len(hint)] for text, hint in zip(shown, hints, strict=False)] == list(hints)
    assert shown[3] == shown[4]
    assert 'exercise 1.1, under "Show solution"' in shown[3]
    assert repr(hint("softmax", more=True)) == shown[-1]
    assert not any(re.search(r"\d of \d", text) for text in shown)  # a count invites clicking to its end


def test_the_next_hint_comes_after_an_attempt_or_a_minute(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(progress, "now", lambda: clock[0])
    first, second, third = exercises.get("softmax").hints
    assert hint("softmax") == first
    again = hint("softmax")
    assert again.startswith(f"{first}\nTry it first: ")
    assert 'hint("softmax", more=True)' in again
    clock[0] += 59
    assert hint("softmax") == again
    clock[0] += 2
    assert hint("softmax") == second
    assert hint("softmax").startswith(second)
    check(notebook(WRONG)["softmax"])
    assert hint("softmax").startswith(third)
    clock[0] -= 3600  # a clock that was set back holds nobody up
    assert "Those were all the hints." in hint("softmax")


def test_an_unknown_name_suggests_what_was_meant():
    with pytest.raises(LookupError, match=r"there is no exercise 'sofmax'\. Did you mean softmax"):
        hint("sofmax")


def test_check_wants_the_function_itself():
    for wrong in (3, None):
        with pytest.raises(
            TypeError, match=r"check takes the function or class itself, not .*For example: check\(softmax\)"
        ):
            check(wrong)


def test_a_name_will_do(monkeypatch):
    assert "There is no `softmax` here yet: run the cell that defines it." in check("softmax").message
    monkeypatch.setattr(sys.modules["__main__"], "softmax", notebook(RIGHT)["softmax"], raising=False)
    assert check("softmax").state == "passed"


@pytest.mark.parametrize(
    ("call", "what"),
    [(hint, "softmx"), (skip, "softmx"), (reset, "softmx"), (check, "softmx"), (check, print), (check, 3), (hint, 3)],
)
def test_a_misspelt_name_ends_in_one_sentence(call, what):
    """IPython shows what `_render_traceback_` gives instead of the frames."""
    with pytest.raises((LookupError, TypeError)) as caught:
        call(what)
    (line,) = caught.value._render_traceback_()
    assert re.fullmatch(r"[A-Z].*[.?)]", line)
    assert re.search("softmax|perplexity", line)  # what was meant, or an example


def test_a_damaged_or_unwritable_progress_file_is_no_obstacle(kept, monkeypatch):
    kept.write_text("{not json")
    assert f"0 of {IN_LOOKUP}" in str(status())
    monkeypatch.setenv("QKV_PROGRESS", "/proc/nowhere/progress.json")
    assert check(notebook(RIGHT)["softmax"]).state == "passed"


def test_progress_can_be_off(kept, monkeypatch):
    monkeypatch.setenv("QKV_PROGRESS", "off")
    check(notebook(RIGHT)["softmax"])
    assert progress.location() is None
    assert not kept.exists()


def test_progress_is_found_from_inside_the_course(tmp_path, monkeypatch):
    monkeypatch.delenv("QKV_PROGRESS")
    (tmp_path / "_toc.yml").touch()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    assert progress.location() == tmp_path / ".qkv" / "progress.json"


def test_a_fault_of_ours_is_called_ours(monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a probe is broken")

    monkeypatch.setattr("proctor.marking.in_process.InProcess.run", broken)
    result = check(notebook(RIGHT)["softmax"])
    assert result.state == "fault"
    assert "That is our fault" in result.message


def test_status_html_has_a_bar_per_chapter():
    assert status()._repr_html_().count("<progress") == len(status().chapters)


def test_status_has_the_titles_of_the_book():
    shown = status()._repr_html_()
    for entry in course.entries():
        assert f"{entry.number:02} {escape(entry.title)}" in shown


def written(tmp_path, *cells: str):
    path = tmp_path / "work.ipynb"
    found = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    path.write_text(json.dumps({"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), encoding="utf-8")
    return path


def test_a_file_is_checked_as_its_notebook_would(tmp_path, capsys):
    path = written(tmp_path, "import torch", "%matplotlib inline", WRONG, "def similarity_scores(", LOOKUP)
    assert check_paths([path]) == 1
    told = capsys.readouterr().out
    assert "softmax: not yet (" in told
    assert "You exponentiate the scores as they are" in told
    assert "soft_lookup: passed" in told
    assert told.count("cell 4 of work.ipynb has a syntax error") == 1
    assert told.strip().endswith("1 passed, 1 not yet, 1 stopped")


def test_a_syntax_error_is_an_exit_code_and_cells_are_counted_as_jupyterlab_does(tmp_path, capsys):
    path = written(tmp_path, "import torch", RIGHT, "import (")
    found = json.loads(path.read_text())
    found["cells"].insert(0, {"cell_type": "markdown", "metadata": {}, "source": "A title"})
    path.write_text(json.dumps(found))
    assert check_paths([path]) == 1
    told = capsys.readouterr().out
    assert "cell 4 of work.ipynb has a syntax error" in told
    assert told.strip().endswith("1 passed")


def test_what_is_not_started_does_not_fail(tmp_path, capsys):
    assert (
        check_paths(
            [written(tmp_path, "import torch", RIGHT, "def similarity_scores(q, k):\n    raise NotImplementedError\n")]
        )
        == 0
    )
    assert capsys.readouterr().out.strip().endswith("1 passed, 1 not started")


def test_a_file_without_an_exercise_is_told(tmp_path, capsys):
    assert check_paths([written(tmp_path, "x = 1")]) == 1
    assert "No exercise found." in capsys.readouterr().out
