"""Never stuck: skip, reset, hints for the mistake that was made, and cards that lead on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from qkv import exercises
from qkv.notebook import kernel, progress, setup, skipping
from qkv.notebook.checking import by_nearness

RIGHT = """import torch
def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""
OVERFLOWS = RIGHT.replace(" - scores.amax(dim, keepdim=True)", "")


class Notebook:
    """A kernel without a browser."""

    def __init__(self) -> None:
        self.shell = InteractiveShell.instance()
        self.shown: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.shell.display_pub.publish = lambda data, *a, **options: self.shown.append((data, options))
        self.payloads: list[tuple[str, bool]] = []
        self.shell.set_next_input = lambda text, replace=False: self.payloads.append((text, replace))
        self.run("from qkv import check, hint, status\nfrom qkv.notebook import kernel, setup\nkernel.install_hook()")
        self.run("setup.setup_notebook()")

    def run(self, text: str) -> Any:
        return self.shell.run_cell(text, store_history=True).result


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(kernel, "_cells", [])
    monkeypatch.setattr(kernel, "callbacks", [])
    monkeypatch.setattr(skipping, "missing", {})
    made = Notebook()
    yield made
    made.shell.events.unregister("post_run_cell", kernel.on_cell_run)
    InteractiveShell.clear_instance()


def test_a_notebook_leads_to_its_page_of_the_book(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_BOOK", "http://127.0.0.1:8100/")
    for path, page in {"/x/03_heads.ipynb": "book/chapters/03_heads.html", "/x/mine.ipynb": None}.items():
        monkeypatch.setenv(setup.NOTEBOOK, path)
        notebook.shown.clear()
        notebook.run("from qkv import check")  # again, as when the first cell is run a second time
        shown = " ".join(data["text/html"] for data, _ in notebook.shown)
        assert shown.count(f'<a href="http://127.0.0.1:8100/{page}"') == (page is not None)  # once, not twice
        assert ("in the book" in shown) == (page is not None)


def test_skip_goes_on_with_ours_and_says_so(notebook: Notebook) -> None:
    notebook.run(skipping.stub_of("softmax"))
    said = notebook.run("skip('softmax')")
    assert repr(said).startswith("Exercise 1.1 is skipped: from here on `softmax` is ours.")
    notebook.run("import torch\nfound = softmax(torch.zeros(2), 0).tolist()")
    assert notebook.shell.user_ns["found"] == [0.5, 0.5]
    result = notebook.run("check(softmax)")
    assert result.state == "not_started"
    assert "This softmax is ours." in result.message
    assert progress.load_progress()["states"]["softmax"] == "skipped"
    assert f"0 of {len(exercises.of_chapter('lookup'))}, 1 skipped" in str(notebook.run("status()"))
    assert "skipped: ours for now" in notebook.run("status()")._repr_html_()
    notebook.run(RIGHT)
    assert notebook.run("check(softmax)").state == "passed"
    assert progress.load_progress()["states"]["softmax"] == "passed"


def test_the_stub_tells_how_to_go_on_and_the_top_says_what_is_missing(notebook: Notebook) -> None:
    notebook.run("import torch\nfrom torch import Tensor")
    notebook.run(skipping.stub_of("softmax"))
    notebook.run("softmax(torch.zeros(2), 0)")
    updates = [data["text/html"] for data, options in notebook.shown if "text/html" in data]
    assert "Not written yet:" in updates[-1]
    assert 'skip("softmax")' in updates[-1]
    assert "01_lookup.ipynb#cell-id=softmax" in updates[-1]
    notebook.run(RIGHT)
    updates = [data["text/html"] for data, options in notebook.shown if "text/html" in data]
    assert updates[-1] == ""


def test_a_cell_that_needs_a_stub_shows_one_line(notebook: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    notebook.run("import torch\nfrom torch import Tensor")
    notebook.run(skipping.stub_of("softmax"))
    notebook.run("def uses(x):\n    return softmax(x, 0)\nuses(torch.zeros(2))")
    shown = capsys.readouterr().out
    assert "softmax is not written yet. Write it, or skip('softmax')." in shown
    assert "Traceback" not in shown
    assert "return softmax(x, 0)" not in shown
    notebook.run("raise NotImplementedError('of my own')")
    assert "of my own" in capsys.readouterr().out


def test_reset_turns_the_cell_into_the_stub(notebook: Notebook) -> None:
    notebook.run(RIGHT)
    notebook.run("reset('softmax')")
    ((text, replaced),) = notebook.payloads
    assert replaced
    assert text.startswith("def softmax(scores: Tensor, dim: int) -> Tensor:")
    assert "raise NotImplementedError(\"write it, or skip('softmax')\")" in text
    assert notebook.run("check(softmax)").state == "passed"  # nothing was overwritten


def test_a_passed_card_says_why_and_leads_on(notebook: Notebook) -> None:
    notebook.run(RIGHT)
    result = notebook.run("check(softmax)")
    assert exercises.get_code("softmax").why in result.message
    assert "Next: exercise 1.2, `similarity_scores` (about 5 minutes, ●○○)." in result.message
    assert '<a href="01_lookup.ipynb#cell-id=similarity-scores">' in result._repr_html_()


def test_hints_begin_with_the_mistake_and_end_with_the_solution(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QKV_BOOK", "http://127.0.0.1:8100/")
    hints = exercises.get_code("softmax").hints
    notebook.run(OVERFLOWS)
    assert notebook.run("check(softmax)").misconceptions == ("overflows",)
    given = [str(notebook.run("hint('softmax', more=True)")) for _ in range(4)]
    assert given[0] == hints[2]  # it speaks of exp(1000), and this answer overflows
    assert sorted(text[:20] for text in given[:3]) == sorted(text[:20] for text in hints)
    assert "http://127.0.0.1:8100/book/chapters/01_lookup.html#exercise-softmax" in given[2]
    assert given[3].startswith("Those were all the hints. The solution is on http")


def test_without_a_mistake_the_gentlest_hint_comes_first() -> None:
    assert by_nearness(["a gentle one", "another"], "") == [0, 1]


@pytest.mark.parametrize("name", exercises.names())
def test_every_exercise_says_what_it_takes_and_why(name: str) -> None:
    exercise = exercises.get(name)
    assert exercise.minutes is not None
    assert 5 <= exercise.minutes <= 60
    assert exercise.difficulty in (1, 2, 3)
    assert len(exercise.why) > 30
    assert name in skipping.stub_of(name)
