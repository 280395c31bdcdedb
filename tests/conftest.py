"""What all tests share: a quiet machine, nobody's progress file, and a real browser."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

# before torch is loaded: two test workers share the cores, and torch's threads would fight over them
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ["QKV_PROGRESS"] = "off"  # tests that are about progress name a file of their own

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

collect_ignore_glob = ["*.ipynb"]  # notebooks under tests/ are material for tests; --nbval is for solutions/

PYTHONS = ("Error", "Exception", "Interrupt", "Warning")  # how the names of Python's own exceptions end
CHROMIUM_FLAGS = [
    "--no-sandbox",  # Chromium refuses its own sandbox as root; the pages are ours
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


LONGEST = {"test_answers.py", "test_three_ways.py", "test_devices.py"}  # minutes each, in one file
QUICK = {"model", "tasks", "examining"}  # folders of tests that start no sandbox, browser or kernel


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only files that start no sandbox, browser or kernel")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --quick, leave out all but the quick folders, and files that are marked. A mark is looked for in the text:
    to import all tests takes longer than to run the quick ones."""
    if not config.getoption("--quick") or not re.fullmatch(r"test_\w+\.py", collection_path.name):
        return None
    quick = collection_path.parent.name in QUICK or "pytest.mark.quick" in collection_path.read_text(encoding="utf-8")
    return None if quick else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left alone with it at the end (`--no-loadscope-reorder`)."""
    items.sort(key=lambda item: (item.path.name not in LONGEST, item.path.suffix != ".ipynb"))


seconds_of: Counter[str] = Counter()  # by file


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    seconds_of[report.nodeid.partition("::")[0]] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The files that took longest, by the clock: one test alone says little of what a run costs."""
    if sum(seconds_of.values()) > 300:
        terminalreporter.section("slowest 30 files")
        for name, seconds in seconds_of.most_common(30):
            terminalreporter.write_line(f"{seconds:7.0f} s  {name}")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def internals(root: Path) -> Callable[[str], list[str]]:
    """Which names of our own exceptions and packages a text has: no student can do anything with one of them."""
    classes: dict[str, set[str]] = {}
    for path in sorted((root / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                classes[node.name] = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    raised = {name for name, bases in classes.items() if any(b.endswith(PYTHONS) for b in bases)}
    raised |= {name for name, bases in classes.items() if bases & raised}
    assert {"NotATensor", "UnknownDraw", "OutputLimit"} <= raised
    words = re.compile(rf"\b({'|'.join(sorted(raised))}|proctor|Traceback|site-packages)\b|src/|<ipython|<submission")
    return lambda text: [found[0] for found in words.finditer(text)]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window; `browser.new_page()` gives a fresh page."""
    from playwright.sync_api import sync_playwright

    from qkv.commands.doctor import chromium

    path = chromium()
    if path is None:
        pytest.fail("the browser tests need Chromium: .ci/tools chromium", pytrace=False)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield opened
        opened.close()
