"""The built book in a real browser with the network off: it reads, folds, finds, and fits a phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse

import pytest
from bs4 import BeautifulSoup

from qkv.course import Course

if TYPE_CHECKING:
    from conftest import Offline
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FIRST = "book/chapters/01_lookup.html"


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")  # type: ignore[no-any-return]


def colour(page: Page, selector: str, name: str = "background-color") -> str:
    return page.locator(selector).first.evaluate(f"e => getComputedStyle(e).getPropertyValue('{name}')")  # type: ignore[no-any-return]


def test_every_page_in_light(offline: Offline) -> None:
    page = offline.open(FIRST)
    assert page.locator("mjx-container").count() > 20
    script = "[...document.fonts].filter(f => f.family.includes('MJX') && f.status === 'loaded').length"
    page.wait_for_function(f"{script} > 0")
    for name in [*offline.pages, "index.html", "search.html", "genindex.html"]:
        page = offline.open(name)
        assert offline.refused == [], name  # it needs no network
        assert offline.errors == [], name
        if name in offline.pages:
            assert overflow(page) <= 0, name
            mathematics_is_typeset(page, name)
            each_exercise_shows_that_its_solution_passes(page, name)


def mathematics_is_typeset(page: Page, name: str) -> None:
    assert "\\operatorname" not in page.locator("article").inner_text(), name
    drawn = "getComputedStyle(e, '::before').content"
    empty = page.locator("mjx-c").evaluate_all(f"all => all.filter(e => /^(none|normal)$/.test({drawn})).length")
    assert empty == 0, name


def each_exercise_shows_that_its_solution_passes(page: Page, name: str) -> None:
    exercises = page.locator(".admonition.exercise").count()
    assert page.locator(".tag_check .proctor-card.passed").count() == exercises, name
    of_code = page.locator(".admonition.exercise:has(pre)").count()  # weights have no stub and no solution
    assert page.locator(".tag_solution details").count() == of_code, name


def test_every_page_on_a_phone_in_the_dark_with_everything_unfolded(phone: Offline) -> None:
    for name in phone.pages:
        page = phone.open(name)
        assert colour(page, "body") != "rgb(255, 255, 255)", name
        page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
        assert overflow(page) <= 0, name
        figures_were_drawn_for_a_phone(page, name)


# which drawing each figure shows, how wide it is, and how much room there is for it
FIGURES = """async all => {
  document.querySelectorAll("details").forEach(e => e.open = true);
  all.forEach(e => e.loading = "eager");
  await Promise.all(all.map(e => e.decode()));
  return all.map(e => [e.currentSrc.split("/").pop(), e.clientWidth, e.closest(".cell_output").clientWidth]);
}"""


def figures_were_drawn_for_a_phone(page: Page, name: str) -> None:
    """In full width without scrolling, and not shrunk by more than the margin between one phone and the next."""
    figures = page.locator(".cell_output picture img").evaluate_all(FIGURES)
    assert len(figures) == page.locator(".cell_output img:not(.qkv-live img)").count(), name
    for source, width, room in figures:
        assert source.endswith("-phone.png"), (name, source)
        assert 320 <= width <= room, (name, source)


def test_a_desktop_shows_the_figures_that_were_drawn_for_it(offline: Offline) -> None:
    figures = offline.open(FIRST).locator(".cell_output picture img").evaluate_all(FIGURES)
    assert figures
    assert not any(source.endswith("-phone.png") for source, _, _ in figures)


def test_search_finds_a_chapter(offline: Offline) -> None:
    page = offline.page
    page.goto((offline.html / "search.html").as_uri() + "?q=softmax")
    page.locator("ul.search li a").first.wait_for()
    found = page.locator("ul.search").inner_text()
    assert "Queries, keys, values" in found
    assert offline.refused == []


# what the search does with a page that it has fetched, which a browser refuses where pages are files
SUMMARY = """([html, address, words]) => {
  const item = document.createElement("li");
  item.innerHTML = `<a href="${address}">a chapter</a>`;
  document.querySelector("ul.search").append(item);
  const summary = Search.makeSearchSummary(html, new Set(words), "");
  item.append(summary);
  return new Promise((done) => setTimeout(() => done([summary.querySelector("a").href, summary.textContent]), 0));
}"""


def test_a_result_leads_to_the_section_that_says_most_of_it(offline: Offline) -> None:
    page = offline.page
    page.goto((offline.html / "search.html").as_uri() + "?q=flash+attention")
    page.locator("ul.search li a").first.wait_for()
    chapter = "book/chapters/11_cost.html"
    html = (offline.html / chapter).read_text("utf-8")
    address, said = page.evaluate(SUMMARY, [html, chapter, ["flash", "attent"]])
    assert address.endswith(f"{chapter}#bytes-moved")
    assert said.startswith("Bytes moved: ")
    assert "flash attention" in said
    assert "Print to PDF" not in said, "the bar of tools above a page is no part of it"


def test_a_slip_in_the_search_is_asked_about(offline: Offline) -> None:
    page = offline.page
    page.goto((offline.html / "search.html").as_uri() + "?q=Transfomer")
    meant = page.get_by_text("Did you mean").get_by_role("link")
    assert meant.inner_text() == "transformer"
    meant.click()
    page.locator("ul.search li a").first.wait_for()


def test_the_search_button_opens_the_search(offline: Offline) -> None:
    page = offline.open("book/index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("query")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=query*")
    page.locator("ul.search li a").first.wait_for()


def test_a_solution_is_folded_until_it_is_asked_for(offline: Offline) -> None:
    page = offline.open(FIRST)
    drawer = page.locator(".tag_solution details").first
    code = drawer.locator("pre")
    assert not code.is_visible()
    assert page.locator(".admonition.exercise").first.get_by_text("raise NotImplementedError").is_visible()
    drawer.get_by_text("Show solution").click()
    assert code.is_visible()
    assert "keepdim" in code.inner_text()
    drawer.get_by_text("Hide solution").click()
    assert not code.is_visible()
    drawer.locator("summary").focus()
    page.keyboard.press("Enter")
    assert code.is_visible()


def test_dark_and_light_can_be_chosen(offline: Offline) -> None:
    page = offline.open(FIRST)
    light = colour(page, "body")
    for _ in range(3):  # auto, dark, light: whatever comes first
        if page.locator("html").get_attribute("data-theme") == "dark":
            break
        page.locator(".theme-switch-button").first.click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert colour(page, "body") != light
    figure = page.locator(".cell_output img").first
    assert "invert" in figure.evaluate("e => getComputedStyle(e).filter")
    assert colour(page, ".cell_output img") == "rgba(0, 0, 0, 0)"


def test_a_wide_equation_scrolls_by_itself_on_a_phone(phone: Offline) -> None:
    page = phone.open(FIRST)
    wide = page.locator("div.math mjx-container").evaluate_all(
        "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert wide > 0  # or this test looks at nothing
    assert overflow(page) <= 0


def test_what_is_wider_than_a_phone_fades_until_its_end_is_in_sight(phone: Offline) -> None:
    page = phone.open(FIRST)
    wide = page.locator("div.math mjx-container.goes-on").first
    assert "gradient" in wide.evaluate("e => getComputedStyle(e).maskImage")
    found = wide.element_handle()
    found.evaluate("e => e.scrollTo(e.scrollWidth, 0)")
    page.wait_for_function("e => !e.classList.contains('goes-on')", arg=found)


def test_white_fields_of_a_figure_are_no_darker_than_a_dark_page(phone: Offline) -> None:
    page = phone.open(FIRST)
    share = page.locator(".cell_output img").first.evaluate(
        "e => getComputedStyle(e).filter.match(/invert\\((.+?)\\)/)[1]"
    )
    ground = min(map(int, re.findall(r"\d+", colour(page, "body"))[:3]))
    assert ground <= 255 * (1 - float(share)) < ground + 8


def test_every_picture_has_words_and_every_link_leads_somewhere(html: Path, pages: list[str]) -> None:
    soups = {name: BeautifulSoup((html / name).read_text("utf-8"), "html.parser") for name in pages}
    anchors = {name: {str(tag["id"]) for tag in soup.select("[id]")} for name, soup in soups.items()}
    for name, soup in soups.items():
        for image in soup.select("article img"):
            assert len(str(image.get("alt", ""))) > 20, f"{name}: {image}"
        for link in soup.select("a[href]"):
            url = urlparse(str(link["href"]))
            if url.scheme or not (url.path or url.fragment):
                continue
            target = (html / name).parent.joinpath(unquote(url.path)).resolve() if url.path else html / name
            assert target.exists(), f"{name} links to {link['href']}"
            there = anchors.get(target.relative_to(html).as_posix())
            if url.fragment and there is not None:
                assert url.fragment in there, f"{name} links to {link['href']}"


def test_each_chapter_offers_its_student_edition(html: Path, root: Path) -> None:
    for chapter in Course(root).chapters():
        page = BeautifulSoup((html / "book" / "chapters" / f"{chapter.name}.html").read_text("utf-8"), "html.parser")
        assert page.select_one(f'.edition a[href="../../notebooks/{chapter.name}.ipynb"]')
        assert (html / "notebooks" / f"{chapter.name}.ipynb").read_bytes() == chapter.student.read_bytes()


def test_the_first_page_has_a_drawing_for_each_chapter(html: Path, root: Path) -> None:
    page = BeautifulSoup((html / "book" / "index.html").read_text("utf-8"), "html.parser")
    for chapter in Course(root).chapters():
        cards = [
            li for li in page.select("ol.chapters > li") if li.select_one(f'a[href="chapters/{chapter.name}.html"]')
        ]
        assert len(cards) == 1, chapter.name
        assert cards[0].select_one("svg.chapter[aria-hidden=true]"), chapter.name


def test_text_can_be_read_against_its_ground(offline: Offline, phone: Offline) -> None:
    """Contrast of at least 4.5 (AA) for what we coloured ourselves, in light and in dark."""
    script = """selector => {
      const parse = c => c.match(/[\\d.]+/g).map(Number);
      const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                           return .2126 * r + .7152 * g + .0722 * b; };
      const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
                              if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
      const seen = [...document.querySelectorAll(selector)].filter(e => e.checkVisibility() && e.textContent.trim());
      return seen.slice(0, 40).map(e => {
        const [a, b] = [light(parse(getComputedStyle(e).color).slice(0, 3)), light(ground(e))].sort((x, y) => y - x);
        return [(a + .05) / (b + .05), e.textContent.trim().slice(0, 30)]; });
    }"""
    selectors = [
        "article p", "article a:not(.headerlink)", "article code", ".admonition-title", ".facts", ".forbidden",
        ".edition", ".verdict",
        ".highlight .k", ".highlight .s2", ".highlight .c1", ".highlight .mi", ".highlight .nf", ".highlight .sd",
        ".eqno", ".proctor-card .state", ".proctor-card .count", "summary p", ".bd-links a", "th", "td", ".output pre",
    ]  # fmt: skip
    for mode in (offline, phone):
        page = mode.open(FIRST)
        for selector in selectors:
            for ratio, text in page.evaluate(script, selector):
                theme = page.locator("html").get_attribute("data-theme")
                assert ratio >= 4.5, f"{theme}: {selector} {text!r} has a contrast of {ratio:.1f}"


def test_a_page_is_printed_in_light_colours_and_without_what_cannot_be_pressed(phone: Offline) -> None:
    page = phone.open(FIRST)
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("html").get_attribute("data-theme") == "light"
    for hidden in (".bd-sidebar-primary", ".tag_solution details", ".qkv-live .controls", ".edition"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert page.locator(".qkv-live svg.drawing").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("html").get_attribute("data-theme") == "dark"
