"""Everybody can read the book: axe-core finds no barrier in any page, and all of it can be reached by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from qkv.authoring.write.rotation import turn

if TYPE_CHECKING:
    from conftest import Offline
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FIRST = "book/chapters/01_lookup.html"
GRAVE = ("serious", "critical")


# axe-core looks at every word of code and every glyph of a formula. The colours of code are the same on all pages, and
# glyphs are hidden from screen readers, which get the MathML: without them it takes seconds instead of minutes.
FEWER_PARTS = """() => {
  for (const code of document.querySelectorAll("pre")) code.textContent = code.textContent;
  const formulas = [...document.querySelectorAll("mjx-math")].map((formula) => [formula, formula.offsetWidth]);
  for (const [formula, width] of formulas) {
    formula.replaceChildren();
    formula.style.cssText = `display: inline-block; width: ${width}px; height: 1em`;
  }
}"""


def barriers(page: Page) -> list[str]:
    """What axe-core calls serious or critical."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in found
        if violation["impact"] in GRAVE
        for node in violation["nodes"]
    ]


def look_at_pages(mode: Offline) -> None:
    """A quarter of the pages, another one each day; all of them where `QKV_ALL=1` is set."""
    for name in {FIRST, *turn([*mode.pages, "search.html", "genindex.html"])}:
        page = mode.open(name)
        page.add_style_tag(content="* { animation: none !important; transition: none !important }")
        page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        if name != FIRST:
            page.evaluate(FEWER_PARTS)
        assert barriers(page) == [], name


def test_no_page_has_a_barrier_in_light(offline: Offline) -> None:
    look_at_pages(offline)


def test_no_page_has_a_barrier_on_a_phone_in_the_dark(phone: Offline) -> None:
    look_at_pages(phone)


def focused(page: Page, script: str) -> Any:
    return page.evaluate(f"(e => {script})(document.activeElement)")


def test_the_first_tab_skips_to_the_text(offline: Offline) -> None:
    page = offline.open(FIRST)
    page.keyboard.press("Tab")
    assert focused(page, "e.textContent.trim()") == "Skip to main content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert focused(page, "!!e.closest('main')")


def test_focus_can_be_seen_wherever_it_goes(offline: Offline) -> None:
    page = offline.open(FIRST)
    ring = """[e, e.parentElement].map(x => getComputedStyle(x)).some(
      s => s.boxShadow !== 'none' || (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0))"""
    for _ in range(60):
        page.keyboard.press("Tab")
        assert focused(page, ring), focused(page, "e.outerHTML.slice(0, 160)")


def test_a_live_figure_is_named_and_moved_by_keyboard(offline: Offline) -> None:
    page = offline.open(FIRST)
    figure = page.get_by_role("group", name="Who looks for what?")
    slider = figure.get_by_role("slider", name="deeds seek things")
    slider.focus()
    before = figure.locator(".said").inner_text()
    page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "0"
    assert figure.locator(".said").inner_text() != before
    assert figure.get_by_role("combobox", name="who looks").is_visible()


def test_what_scrolls_sideways_can_be_reached(phone: Offline) -> None:
    page = phone.open(FIRST)
    page.wait_for_function("document.querySelectorAll('div.math [tabindex=\"0\"]').length > 0")


def test_code_that_a_late_font_makes_wide_can_be_reached(phone: Offline) -> None:
    page = phone.open("book/chapters/08_transformer.html")
    page.add_style_tag(content="pre { font-size: 200% !important }")
    page.evaluate("document.fonts.dispatchEvent(new Event('loadingdone'))")
    wide = page.evaluate("""[...document.querySelectorAll('pre')]
      .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.tabIndex)""")
    assert wide
    assert set(wide) == {0}


def test_search_is_all_keyboard(offline: Offline) -> None:
    page = offline.open("book/index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax*")
    page.locator("ul.search li a").first.wait_for()
    for _ in range(80):
        page.keyboard.press("Tab")
        if focused(page, "!!e.closest('ul.search')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/book/**")
