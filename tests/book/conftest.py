"""The book, built once for all tests of it, and a browser that sees nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qkv.authoring.publish.publishing import publish_book

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, Route

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real book, built strictly into a folder of its own; `make test` has just built it, and says where."""
    built = os.environ.get("QKV_BUILT_BOOK")
    if built:
        return Path(built).resolve()
    out = tmp_path_factory.mktemp("book")
    said: list[str] = []
    assert publish_book(say=said.append, out=out) == 0, "\n".join(said)
    return out / "_build" / "html"


@pytest.fixture(scope="session")
def pages(html: Path) -> list[str]:
    """The pages that people read."""
    return sorted(path.relative_to(html).as_posix() for path in (html / "book").rglob("*.html"))


class Offline:
    """A page that can load files of the book and nothing else; it remembers what it was refused and what went wrong."""

    def __init__(self, page: Page, html: Path, pages: list[str]) -> None:
        self.page, self.html, self.pages = page, html, pages
        self.refused: list[str] = []
        self.errors: list[str] = []
        page.route("**/*", self._route)
        page.on("requestfailed", self._failed)
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _route(self, route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            self.refused.append(route.request.url)
            route.abort()

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the browser left the page while it was loading
            self.errors.append(f"failed to load {request.url}: {request.failure}")

    def open(self, name: str) -> Page:
        self.page.goto((self.html / name).as_uri())
        return self.page


@pytest.fixture
def offline(browser: Browser, html: Path, pages: list[str]) -> Iterator[Offline]:
    context = browser.new_context(viewport=DESKTOP, color_scheme="light")
    yield Offline(context.new_page(), html, pages)
    context.close()


@pytest.fixture
def phone(browser: Browser, html: Path, pages: list[str]) -> Iterator[Offline]:
    context = browser.new_context(viewport=PHONE, color_scheme="dark", has_touch=True)
    yield Offline(context.new_page(), html, pages)
    context.close()
