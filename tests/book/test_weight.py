"""No page is heavy: what a reader on a slow line waits for."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlparse

import pytest
from bs4 import BeautifulSoup

pytestmark = pytest.mark.slow

HEAVIEST = 1_600_000  # bytes, which chapter 11, the longest page, comes near


def test_no_page_is_heavy(html: Path) -> None:
    """All that a page can load, as it lies on the disk: itself, styles, scripts, pictures, fonts."""
    for path in [*html.glob("*.html"), *(html / "book").rglob("*.html")]:
        weight = sum(file.stat().st_size for file in loaded(path))
        assert weight <= HEAVIEST, f"{path.relative_to(html)} weighs {weight:,} bytes"


def loaded(page: Path) -> set[Path]:
    """The files that a page asks for, and that its style sheets ask for."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    tags = soup.select("script[src], img[src], link[rel=stylesheet], link[rel=preload], link[rel~=icon]")
    asked = [str(tag.get("src") or tag.get("href")) for tag in tags]
    found = {page, *(page.parent / urlparse(url).path for url in asked if not url.startswith("data:"))}
    for sheet in [file for file in found if file.suffix == ".css"]:
        urls = re.findall(r"url\([\"']?([^\"')]+)", sheet.read_text("utf-8"))
        found |= {sheet.parent / urlparse(url).path for url in urls if not url.startswith("data:")}
    return {file.resolve() for file in found if file.is_file()}
