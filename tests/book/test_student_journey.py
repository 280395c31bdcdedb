"""A new student in JupyterLab: not started, a mistake called by its name, passed, and progress that shows it.

Everything is done as a person does it, by keys in a real browser, on a copy of the student edition.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from qkv import exercises, serve
from qkv.authoring.definitions import definition
from qkv.authoring.editions import METADATA

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ElementHandle, Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE = 120_000  # ms: importing torch on a busy machine
OVERFLOWS = """def softmax(scores, dim):
    powers = torch.exp(scores)
    return powers / powers.sum(dim=dim, keepdim=True)"""


@pytest.fixture
def lab(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[serve.Lab]:
    """JupyterLab as `qkv start` starts it, on a copy of notebooks/ and with a progress file of its own."""
    notebooks = tmp_path / "notebooks"
    shutil.copytree(root / "notebooks", notebooks)
    monkeypatch.setattr(serve, "ROOT", tmp_path)
    monkeypatch.setattr(serve, "NOTEBOOKS", notebooks)
    monkeypatch.setattr(serve, "LAB_LOG", tmp_path / "lab.log")
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(tmp_path / "workspaces"))
    monkeypatch.setenv("JUPYTERLAB_SETTINGS_DIR", str(tmp_path / "settings"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    with serve.Lab(serve.first_free_port(8300, "JupyterLab")) as lab:
        lab.wait_until_it_answers(threading.Event())
        yield lab


class Notebook:
    """What a student does: read the cell that is active, run it, write into it."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def active(self) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell.jp-mod-active")

    def source(self) -> str:
        editor = self.active.locator(".cm-content")
        return editor.inner_text(timeout=PATIENCE) if self.is_code() else ""

    def is_code(self) -> bool:
        return "jp-CodeCell" in (self.active.get_attribute("class", timeout=PATIENCE) or "")

    def run(self) -> None:
        """Run the active cell, wait until it is done, and move on."""
        cell = self.active.element_handle()
        before = self.active.locator(".jp-InputPrompt").inner_text() if self.is_code() else ""
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function("cell => !cell.classList.contains('jp-mod-active')", arg=cell, timeout=PATIENCE)
        if before:
            try:
                self._wait_for_prompt(cell, before, "now !== before", 30_000)  # [*] while it runs
            except PlaywrightTimeout:  # JupyterLab loses a cell that is run while the kernel connects: run it again
                self.up(1)
                self.page.keyboard.press("Shift+Enter")
            self._wait_for_prompt(cell, before, "now !== before && /\\d/.test(now)", PATIENCE)  # [3] when it is done

    def _wait_for_prompt(self, cell: ElementHandle | None, before: str, condition: str, patience: float) -> None:
        script = (
            "([cell, before]) => { const now = cell.querySelector('.jp-InputPrompt').innerText; return CONDITION; }"
        )
        self.page.wait_for_function(script.replace("CONDITION", condition), arg=[cell, before], timeout=patience)

    def run_until(self, beginning: str) -> None:
        """Run cell after cell until the active one begins so; it is not run yet."""
        for _ in range(60):
            if self.source().startswith(beginning):
                return
            self.run()
        raise AssertionError(f"no cell begins with {beginning!r}")

    def write(self, text: str) -> None:
        self.page.keyboard.press("Enter")
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def up(self, cells: int) -> None:
        self.page.keyboard.press("Escape")
        for _ in range(cells):
            self.page.keyboard.press("ArrowUp")

    def shown(self) -> str:
        """What the cell above the active one shows."""
        above = self.active.locator("xpath=preceding-sibling::*[contains(@class, 'jp-Cell')][1]")
        output = above.locator(".jp-OutputArea-output").last
        output.wait_for(timeout=PATIENCE)
        return output.inner_text()


def test_from_not_started_to_passed(browser: Browser, lab: serve.Lab, root: Path, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    try:
        walk(page, lab, root)
    except BaseException:
        page.screenshot(path=tmp_path / "journey.png")
        raise
    finally:
        context.close()


DIFFICULT = {
    "setup": "import torch\nfrom torch import Tensor\nfrom qkv import check, hint, status",
    "off by a factor": "def softmax(scores, dim):\n    return 1.01 * (scores - scores.logsumexp(dim, True)).exp()",
    "pictures": "check(softmax)",
    "broken": "def softmax(scores, dim):\n    return (scores",
    "not stale": "check(softmax)",
    "a loop": "def softmax(scores, dim):\n    i = 0\n    while i < 10:\n        pass",
    "its card": "check(softmax)",
    "the stub": "from qkv.going_on import stub_of\nexec(stub_of('softmax'))",
    "used": "softmax(torch.zeros(2), 0)",
    "skipped": "skip('softmax')",
    "ours": "softmax(torch.zeros(2), 0)",
    "to be reset": "reset('softmax')",
    "end": "1",
}


def test_never_stuck_and_never_misled(browser: Browser, lab: serve.Lab, tmp_path: Path) -> None:
    cells = [new_code_cell(text) for text in DIFFICULT.values()]
    nbformat.write(new_notebook(cells=cells, metadata=METADATA), tmp_path / "notebooks" / "stuck.ipynb")
    context = browser.new_context(viewport={"width": 1280, "height": 2400})
    page = context.new_page()
    try:
        page.goto(lab.address.replace("/lab?", "/lab/tree/stuck.ipynb?"))
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)
        page.locator(".jp-Notebook .jp-Cell").first.click()
        page.keyboard.press("Escape")
        notebook = Notebook(page)
        said = {}
        for name in DIFFICULT:
            if name == "end":
                break
            notebook.run()
            above = notebook.active.locator("xpath=preceding-sibling::*[contains(@class, 'jp-Cell')][1]")
            if name in ("pictures", "not stale", "its card", "skipped", "ours"):
                said[name] = notebook.shown()
            if name == "pictures":
                assert above.locator("svg[role=img]").count() == 3
        assert "Every entry of weights is off by the same factor, 1.01." in said["pictures"]
        assert "did not get through: SyntaxError in line 2" in said["not stale"]
        assert "passed" not in said["not stale"]
        assert "Your code was still running after 10 s, at line" in said["its card"]
        assert "is skipped: from here on" in said["skipped"]
        assert "0.5000, 0.5000" in said["ours"]
        top = page.locator(".jp-Notebook .jp-Cell").first
        assert "Not written yet" not in top.inner_text()  # it was, until the exercise was skipped
        stub = page.locator(".jp-Notebook .jp-Cell", has_text="write it, or skip")
        assert stub.count() >= 1  # the cell that asked for it
    except BaseException:
        page.screenshot(path=tmp_path / "stuck.png")
        raise
    finally:
        context.close()


LIVE = """from qkv.figures.positions import wavelengths
wavelengths()"""


def test_a_live_figure_moves_in_jupyterlab(browser: Browser, lab: serve.Lab, tmp_path: Path) -> None:
    cell = new_code_cell(LIVE)
    nbformat.write(new_notebook(cells=[cell], metadata=METADATA), tmp_path / "notebooks" / "live.ipynb")
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(lab.address.replace("/lab?", "/lab/tree/live.ipynb?"))
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Control+Enter")
    figure = page.locator(".qkv-live[data-live]")
    figure.locator("svg.drawing").wait_for(timeout=PATIENCE)
    assert not figure.locator(".still").is_visible()
    before = figure.locator(".said").inner_text()
    figure.locator("input[name=trained]").focus()
    page.keyboard.press("ArrowRight")
    assert figure.locator(".said").inner_text() != before
    context.close()


def walk(page: Page, lab: serve.Lab, root: Path) -> None:
    page.goto(lab.address.replace("/lab?", "/lab/tree/01_lookup.ipynb?"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=PATIENCE)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)  # before, a cell that is run is lost
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Escape")
    notebook = Notebook(page)

    # the stub as it is
    notebook.run_until("def softmax")
    assert "raise NotImplementedError" in notebook.source()
    notebook.run()
    assert notebook.source() == "check(softmax)"
    notebook.run()
    assert "not started" in notebook.shown()

    # a wrong answer: its mistake by name, with evidence and the way on
    notebook.up(2)
    notebook.write(OVERFLOWS)
    notebook.run()
    notebook.run()
    card = notebook.shown()
    mistake = exercises.find("softmax").misconceptions["overflows"].explanation
    assert "not yet" in card
    assert mistake.sentence in card
    assert "expected" in card
    assert "Next:" in card

    # the right answer
    notebook.up(2)
    notebook.write(definition(root / "src" / "qkv" / "model" / "lookup.py", "softmax").solved)
    notebook.run()
    notebook.run()
    card = notebook.shown()
    assert "passed" in card
    assert "softmax" in card
    assert "Next: exercise 1.2, similarity_scores" in card

    # progress shows it
    page.keyboard.press("Escape")
    page.keyboard.press("a")  # a new cell above this one
    notebook.write("status()")
    notebook.run()
    progress = notebook.shown()
    assert f"1 of {len(exercises.chapters()['lookup'])}" in progress
    assert "Next: similarity_scores, in chapter lookup (about" in progress
