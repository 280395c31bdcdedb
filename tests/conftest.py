"""What all tests share: a quiet machine, nobody's progress file, and a real browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
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

CHROMIUM_FLAGS = [
    "--no-sandbox",  # Chromium refuses its own sandbox as root; the pages are ours
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the repository."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium, without a window; `browser.new_page()` gives a fresh page."""
    from playwright.sync_api import sync_playwright

    from qkv.doctor import chromium

    path = chromium()
    if path is None:
        pytest.fail("the browser tests need Chromium: .ci/tools chromium", pytrace=False)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield opened
        opened.close()
