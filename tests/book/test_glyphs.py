"""Every character that a page prints has a glyph in a font that comes with the book, whatever fonts a system has."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup

if TYPE_CHECKING:
    from conftest import Offline

pytestmark = pytest.mark.browser

STACKS = ("--pst-font-family-base", "--pst-font-family-monospace", "--qkv-sans")
SET_BY_MATHJAX = ["script", "style", "svg", "mjx-container", "math"]  # formulas and figures bring their own shapes


def printed(html: Path, pages: list[str]) -> dict[str, str]:
    """The characters that pages print -> the first page that does."""
    found: dict[str, str] = {}
    for name in [*pages, "genindex.html"]:
        text = BeautifulSoup((html / name).read_text("utf-8"), "html.parser")
        for part in text(SET_BY_MATHJAX):
            part.decompose()
        for character in set(text.get_text()):
            if character.isprintable() and not character.isspace():
                found.setdefault(character, name)
    return found


def test_every_character_has_its_glyph(offline: Offline, html: Path, pages: list[str]) -> None:
    characters = printed(html, pages)
    page = offline.open(pages[0])
    spans = "".join(
        f'<span class="glyph" style="font-family:var({stack})" title="{escape(character)}">{escape(character)}</span>'
        for character in characters
        for stack in STACKS
    )
    page.evaluate("spans => { document.body.innerHTML = spans }", spans)
    page.evaluate("document.body.offsetHeight")  # lays the page out, which asks for the fonts
    page.evaluate("document.fonts.ready.then(() => true)")
    tools = page.context.new_cdp_session(page)
    tools.send("DOM.enable")
    tools.send("CSS.enable")
    top = tools.send("DOM.getDocument")["root"]["nodeId"]
    nodes = tools.send("DOM.querySelectorAll", {"nodeId": top, "selector": "span.glyph"})["nodeIds"]
    assert len(nodes) == len(characters) * len(STACKS)
    asked = [character for character in characters for _ in STACKS]
    foreign = {
        character
        for node, character in zip(nodes, asked, strict=True)
        for font in tools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
        if not font["isCustomFont"]
    }
    assert not {character: characters[character] for character in foreign}
