"""A new student in JupyterLab: not started, a mistake called by its name, passed, and progress that shows it.

Everything is done as a person does it, by keys in a real browser, on a copy of the student edition.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect

from qkv import exercises
from qkv.authoring.build.definitions import definition
from qkv.authoring.build.editions import METADATA
from qkv.commands.lab import Lab
from qkv.commands.ports import first_free_port
from qkv.commands.update import update_course
from qkv.notebook import workspace
from qkv.notebook.skipping import stub_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ElementHandle, Locator, Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATIENCE = 120_000  # ms: importing torch on a busy machine
OVERFLOWS = """def softmax(scores, dim):
    powers = torch.exp(scores)
    return powers / powers.sum(dim=dim, keepdim=True)"""


@pytest.fixture
def lab(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """JupyterLab as `qkv start` starts it, on a copy of notebooks/ and with a progress file of its own."""
    notebooks = tmp_path / "notebooks"
    shutil.copytree(root / "notebooks", notebooks)
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setenv("JUPYTERLAB_WORKSPACES_DIR", str(tmp_path / "workspaces"))
    monkeypatch.setenv("JUPYTERLAB_SETTINGS_DIR", str(tmp_path / "settings"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    place = workspace.of_clone(tmp_path)
    with Lab(place, first_free_port(8300, "JupyterLab"), "http://127.0.0.1:8299/") as lab:
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
        """Is it code that one sees? The first cell is folded, and shows neither its text nor a number."""
        code = "jp-CodeCell" in (self.active.get_attribute("class", timeout=PATIENCE) or "")
        return code and self.active.locator(".jp-InputPlaceholder").count() == 0

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

    @property
    def above(self) -> Locator:
        """The cell above the active one."""
        return self.active.locator("xpath=preceding-sibling::*[contains(@class, 'jp-Cell')][1]")

    @property
    def output(self) -> Locator:
        """The last that the cell above shows."""
        return self.above.locator(".jp-OutputArea-output").last

    def shown(self) -> str:
        self.output.wait_for(timeout=PATIENCE)
        return self.output.inner_text()


def test_from_not_started_to_passed(browser: Browser, lab: Lab, root: Path, tmp_path: Path) -> None:
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
    "a slip": "def softmax(scores, dim):\n    powers = (scores - scores.amax(dim, True)).exp()\n"
    "    print('so far so good')\n    return powers / powers.sum(dim, True).sqrt()",
    "its line": "check(softmax)",
    "a step further": "hint('softmax')",
    "at once": "hint('softmax')",
    "another": "hint('softmax', more=True)",
    "broken": "def softmax(scores, dim):\n    return (scores",
    "not stale": "check(softmax)",
    "a loop": "def softmax(scores, dim):\n    i = 0\n    while i < 10:\n        pass",
    "its card": "check(softmax)",
    "the stub": "from qkv.notebook.skipping import stub_of\nexec(stub_of('softmax'))",
    "used": "softmax(torch.zeros(2), 0)",
    "skipped": "skip('softmax')",
    "ours": "softmax(torch.zeros(2), 0)",
    "to be reset": "reset('softmax')",
    "end": "1",
}
SHOWN = {
    "pictures": "Every entry of weights is off by the same factor, 1.01.",
    "its line": "One change in line 4, return powers / powers.sum(dim, True).sqrt(), makes all",
    "a step further": "The change was made to this piece of your code",
    "at once": "Try it first: there is more after your next check, or in a minute.",
    "another": "One call was left out.",
    "not stale": "did not get through: SyntaxError in line 2",
    "its card": "Your code was still running after 30 s, at line",
    "skipped": "is skipped: from here on",
    "ours": "0.5000, 0.5000",
}


def test_never_stuck_and_never_misled(browser: Browser, lab: Lab, tmp_path: Path) -> None:
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
        for name in DIFFICULT:
            if name == "end":
                break
            notebook.run()
            if name in SHOWN:  # what a cell shows may come after its number
                expect(notebook.output).to_contain_text(SHOWN[name], use_inner_text=True, timeout=PATIENCE)
            if name == "a step further":  # JupyterLab would break words in the middle
                expect(notebook.output.locator("pre")).to_have_css("word-break", "normal")
            if name == "pictures":
                expect(notebook.above.locator("svg[role=img]")).to_have_count(3)
            if name == "its line":  # what the code printed, folded
                expect(notebook.above.locator("details", has_text="so far so good")).to_have_count(1)
            if name == "not stale":
                expect(notebook.output).not_to_contain_text("passed")
        top = page.locator(".jp-Notebook .jp-Cell").first
        expect(top).not_to_contain_text("Not written yet")  # it was, until the exercise was skipped
        editors = page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea-editor .cm-content")
        back = editors.filter(has_text="raise NotImplementedError")
        expect(back).to_have_count(1, timeout=PATIENCE)
        assert [line for line in back.inner_text().splitlines() if line.strip()] == [
            line for line in stub_of("softmax").splitlines() if line.strip()
        ]
        expect(editors.filter(has_text="reset('softmax')")).to_have_count(0)  # it is the cell that asked for the stub
    except BaseException:
        page.screenshot(path=tmp_path / "stuck.png")
        raise
    finally:
        context.close()


def test_from_the_first_screen_to_a_cell_and_from_the_book_to_it(browser: Browser, lab: Lab, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    try:
        page.goto(lab.first_screen)
        page.get_by_role("heading", name="Welcome").wait_for(timeout=PATIENCE)
        page.get_by_role("link", name="Begin with chapter 1").click()
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=PATIENCE)
        from_book = context.new_page()  # the browser has been let in, so no token is asked for
        from_book.goto(f"{lab.cells}01_lookup.ipynb#cell-id=soft-lookup")
        active = from_book.locator(".jp-Notebook .jp-Cell.jp-mod-active .cm-content", has_text="def soft_lookup")
        active.wait_for(timeout=PATIENCE)
        assert active.is_visible()
    except BaseException:
        for number, open_page in enumerate(context.pages):
            open_page.screenshot(path=tmp_path / f"page{number}.png")
        raise
    finally:
        context.close()


FIGURE = """import matplotlib.pyplot as plt
from qkv import check, figures
figures.use()
fig, ax = plt.subplots()
ax.set_title("dark ink")
figures.show(fig, alt="An empty figure.")"""


def test_a_figure_is_read_on_dark_ground_as_on_light(browser: Browser, lab: Lab, tmp_path: Path) -> None:
    nbformat.write(
        new_notebook(cells=[new_code_cell(FIGURE)], metadata=METADATA), tmp_path / "notebooks" / "figure.ipynb"
    )
    themes = tmp_path / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    themes.parent.mkdir(parents=True)
    looks = {}
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        themes.write_text(json.dumps({"theme": theme}))
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(lab.address.replace("/lab?", "/lab/tree/figure.ipynb?"))
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)
        page.locator(f"body[data-jp-theme-light={str('Light' in theme).lower()}]").wait_for(
            state="attached", timeout=PATIENCE
        )
        page.locator(".jp-Notebook .jp-Cell").first.click()
        page.keyboard.press("Control+Enter")
        image = page.locator(".jp-OutputArea-output img")
        image.wait_for(timeout=PATIENCE)
        style = "image => { const s = getComputedStyle(image); return [s.filter, s.backgroundColor]; }"
        looks[theme] = image.evaluate(style)
        context.close()
    nothing = "rgba(0, 0, 0, 0)"
    assert looks == {
        "JupyterLab Light": ["none", nothing],
        "JupyterLab Dark": ["invert(1) hue-rotate(180deg)", nothing],
    }


def test_an_update_brings_the_new_edition_with_the_answer_in_it(
    browser: Browser, lab: Lab, root: Path, tmp_path: Path
) -> None:
    """The lab's folder is a clone; while the student works in it, a new edition appears where it came from."""
    source, name, clone = tmp_path.parent / "source", "notebooks/01_lookup.ipynb", tmp_path
    shutil.copytree(clone / "notebooks", source / "notebooks", ignore=shutil.ignore_patterns("welcome.md"))
    (source / "_toc.yml").touch()

    def git(*words: str, at: Path = source) -> None:
        names = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *names, *words], cwd=at, check=True, capture_output=True)

    git("init")
    git("add", "-A")
    git("commit", "-m", "first edition")
    git("clone", "--bare", str(source), str(source) + ".git")
    git("init", at=clone)
    git("remote", "add", "origin", str(source) + ".git", at=clone)
    git("fetch", at=clone)
    git("checkout", "-f", "-b", "main", "--track", "origin/main", at=clone)

    context = browser.new_context(viewport={"width": 1280, "height": 2400})
    page = context.new_page()
    try:
        page.goto(f"{lab.address.replace('/lab?', '/lab/tree/01_lookup.ipynb?')}#cell-id=softmax")
        notebook = Notebook(page)
        notebook.active.locator(".cm-content", has_text="def softmax").wait_for(timeout=PATIENCE)
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=PATIENCE)
        notebook.write(definition(root / "src" / "qkv" / "model" / "lookup.py", "softmax").solved)
        page.keyboard.press("Control+s")
        page.wait_for_function("!document.querySelector('.jp-mod-dirty')", timeout=PATIENCE)

        edition = source / name
        edition.write_text(edition.read_text("utf-8").replace("# Queries, keys, values", "# A new title"), "utf-8")
        git("commit", "-am", "second edition")
        git("push", str(source) + ".git", "HEAD:main")
        said: list[str] = []
        assert update_course(workspace.of_clone(clone), say=said.append) == 0, said
        assert list((clone / "kept").glob("*/01_lookup.ipynb"))

        page.reload()
        page.get_by_role("heading", name="A new title").wait_for(timeout=PATIENCE)
        answers = page.locator(".jp-Notebook .jp-CodeCell .cm-content", has_text="def softmax")
        answers.first.scroll_into_view_if_needed()
        (answer,) = answers.all_inner_texts()
        assert "NotImplementedError" not in answer
        assert "torch.exp(" in answer
    except BaseException:
        page.screenshot(path=tmp_path / "update.png")
        raise
    finally:
        context.close()


LIVE = """from qkv.figures.positions import wavelengths
wavelengths()"""


def test_a_live_figure_moves_in_jupyterlab(browser: Browser, lab: Lab, tmp_path: Path) -> None:
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


def walk(page: Page, lab: Lab, root: Path) -> None:
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
    mistake = exercises.get_code("softmax").misconceptions["overflows"].explanation
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
    assert "Next: 1.2 similarity_scores, in Queries, keys, values (about" in progress
