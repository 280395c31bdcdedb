"""Around every test of figures: our look, in settings of its own, and a page for figures that move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from qkv import figures
from qkv.figures.interactive import Interactive

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(autouse=True)
def _our_look() -> Iterator[None]:
    with mpl.rc_context():
        mpl.use("agg")
        figures.use()
        yield
    plt.close("all")


@pytest.fixture
def opened(browser: Browser) -> Callable[[Interactive, int], tuple[Page, list[str]]]:
    """Opens a figure in a page of some width; gives the page, and the errors of its scripts as they come."""

    def open_figure(figure: Interactive, width: int) -> tuple[Page, list[str]]:
        page = browser.new_page(viewport={"width": width, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_content(f"<!doctype html><html><body>{figure.html}</body></html>")
        return page, errors

    return open_figure
