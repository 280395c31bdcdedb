"""The pages at the end of the book: claims ledger, notation, glossary, bibliography, index. As a reader finds them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bs4 import BeautifulSoup, Tag

from qkv.authoring.build.bibliography import citations
from qkv.authoring.build.printed import VALUE
from qkv.authoring.publish.ledger import gaps
from qkv.course import Course

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
KINDS = ("holds", "holds-if", "wrong", "not-shown", "defined")
PAGES = ("claims", "notation", "glossary", "bibliography")


def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


@pytest.fixture(scope="module")
def ledger(html: Path) -> BeautifulSoup:
    return soup(html / "book" / "claims.html")


def text(tag: Tag | None) -> str:
    assert tag is not None
    return " ".join(tag.get_text().split())


def test_every_page_is_found_from_every_page(html: Path) -> None:
    wanted = {*(f"{name}.html" for name in PAGES), "genindex.html"}
    for page in [*(f"book/{name}.html" for name in PAGES), "book/chapters/01_lookup.html", "genindex.html"]:
        links = {str(link["href"]).rpartition("/")[2] for link in soup(html / page).select(".bd-links a[href]")}
        assert wanted - links <= {page.rpartition("/")[2]}, page  # a page links to itself as #


# ---- the ledger


def test_nothing_is_dropped(root: Path) -> None:
    """Every statement of the list is decided by a cell, waits for its chapter, or is said to be undecidable."""
    assert gaps(Course(root)) == []


def test_the_ledger_says_what_the_cells_say(html: Path, ledger: BeautifulSoup) -> None:
    """Words, verdict and numbers of each entry are those of the cell that it links to."""
    seen = 0
    for entry in ledger.select(", ".join(f".entry.{kind}" for kind in KINDS)):
        link = entry.select_one("a[href*='#claim-']")
        assert link is not None, text(entry)
        page, _, anchor = str(link["href"]).partition("#")
        target = chapter(html, page).find(id=anchor)
        assert isinstance(target, Tag), link["href"]
        box = target if "claim" in (target.get("class") or []) else target.find_next(class_="claim")
        assert isinstance(box, Tag)
        assert text(entry.select_one(".says")) == text(
            box.select_one("p:not(.admonition-title):not(.verdict):not(.measured-on):not(.control)")
        )
        assert f"Verdict: {text(entry.select_one('.verdict'))}" == text(box.select_one(".verdict"))
        assert set(entry["class"]) & set(KINDS) == set(box["class"]) & set(KINDS)
        cell = box.find_previous(class_="cell")
        assert isinstance(cell, Tag)
        printed = " ".join(output.get_text() for output in cell.select(".cell_output"))
        said = text(entry.select(".below")[-1])
        stated = [value for value in VALUE.findall(said) if "±" in value or "[" in value]
        for value in stated:
            assert value in " ".join(printed.split()), f"{anchor}: {value}"
        seen += 1
    assert seen > 90
    assert len(ledger.select(".entry.literature")) >= 10
    assert len(ledger.select(".entry.open")) >= 5


PARSED: dict[Path, BeautifulSoup] = {}


def chapter(html: Path, page: str) -> BeautifulSoup:
    path = html / "book" / page
    if path not in PARSED:
        PARSED[path] = soup(path)
    return PARSED[path]


def test_every_claim_on_a_page_is_in_the_ledger(html: Path, ledger: BeautifulSoup) -> None:
    linked = {str(link["href"]).partition("#")[2] for link in ledger.select(".entry a[href*='#claim-']")}
    for path in sorted((html / "book" / "chapters").glob("*.html")):
        for box in chapter(html, f"chapters/{path.name}").select(".admonition.claim"):
            assert box["id"] in linked, f"{path.name}: {box['id']}"


def test_the_counts_are_right(ledger: BeautifulSoup) -> None:
    kinds = {kind: len(ledger.select(f".entry.{kind}")) for kind in KINDS}
    assert text(ledger.select_one(".counts")) == (
        f"Of {sum(kinds.values())} claims that have a cell, {kinds['holds']} hold, {kinds['holds-if']} hold under a "
        f"condition, {kinds['wrong']} are wrong, {kinds['not-shown']} are not shown, {kinds['defined']} are decided by "
        "a definition or an identity."
    )


def test_every_statement_is_listed_with_what_decides_it(ledger: BeautifulSoup, root: Path) -> None:
    lines = (root / "book" / "statements.txt").read_text("utf-8").splitlines()
    items = ledger.select("#the-statements ol > li")
    assert len(items) == len(lines) == 242
    assert sum(item.select_one("a[href*='#claim-']") is not None for item in items) > 150


@pytest.mark.browser
def test_claims_can_be_chosen_by_their_verdict(html: Path, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto((html / "book" / "claims.html").as_uri())
    count = "all => all.filter(e => e.checkVisibility()).length"
    total = page.locator(".entry").evaluate_all(count)
    assert total == page.locator(".entry").count()
    for words, kind in [
        ("hold (", "holds"),
        ("hold under", "holds-if"),
        ("wrong (", "wrong"),
        ("not shown (", "not-shown"),
        ("by def", "defined"),
    ]:
        page.locator("nav.filter a", has_text=re.compile(f"^{re.escape(words)}")).click()
        assert page.locator(f".entry.{kind}").evaluate_all(count) == page.locator(f".entry.{kind}").count() > 0
        assert page.locator(f".entry:not(.{kind})").evaluate_all(count) == 0
        for heading in page.locator("article h2").all():
            if heading.is_visible():  # no chapter is left without a claim
                assert heading.locator("xpath=..").locator(f".entry.{kind}").count() > 0
    page.locator("nav.filter a", has_text="all (").click()
    assert page.locator(".entry").evaluate_all(count) == total
    context.close()


@pytest.mark.browser
def test_a_link_to_a_folded_claim_unfolds_it(html: Path, browser: Browser) -> None:
    page = browser.new_page()
    claim = "#claim-rope-extrapolates"  # the reader was asked to predict its result
    page.goto((html / "book" / "chapters" / "04_positions.html").as_uri())
    assert not page.locator(claim).is_visible()
    page.goto((html / "book" / "chapters" / "04_positions.html").as_uri() + claim)
    page.locator(claim).wait_for(state="visible")
    page.close()


# ---- bibliography, notation, glossary, index


def test_every_paper_is_cited_and_can_be_opened(html: Path, root: Path) -> None:
    sources = [*(root / "book").rglob("*.md"), root / "book" / "claims.toml"]  # drafts of chapters cite, too
    cited = {key for path in sources for key in re.findall(r"\{cite:[tp]\}`([^`]+)`", path.read_text("utf-8"))}
    assert set(citations(root)) == cited
    entries = soup(html / "book" / "bibliography.html").select(".citation")
    assert len(entries) > 30
    for entry in entries:
        assert entry.select_one("a[href^='https://']"), text(entry)


def test_a_citation_reads_the_same_on_the_page_and_in_the_notebook(html: Path, root: Path) -> None:
    reading = soup(html / "book" / "chapters" / "06_norm.html").select_one("#further-reading")
    assert "Ba et al. (2016): Layer Normalization." in text(reading)
    notebook = (root / "notebooks" / "06_norm.ipynb").read_text("utf-8")
    assert "[Ba et al. (2016)](https://arxiv.org/abs/1607.06450): *Layer Normalization*." in notebook
    assert "{cite" not in notebook


def test_conventions_are_those_of_the_model(html: Path, root: Path) -> None:
    docstring = ast.get_docstring(ast.parse((root / "src" / "qkv" / "model" / "__init__.py").read_text("utf-8")))
    assert docstring is not None
    page = text(soup(html / "book" / "notation.html").select_one("#conventions")).replace("’", "'")
    for sentence in (
        "A mask is bool and broadcasts to",
        "Positions count from 0",
        "Functions do not change their inputs",
    ):
        assert sentence in docstring
        assert sentence in page
    assert "<!--" not in page


def test_numbers_of_equations_are_those_of_their_chapters(html: Path) -> None:
    notation = soup(html / "book" / "notation.html")
    links = notation.select("a[href*='#equation-']")
    assert len(links) >= 6
    for link in links:
        page, _, anchor = str(link["href"]).partition("#")
        number = chapter(html, page).find(id=anchor)
        assert isinstance(number, Tag)
        assert text(link) == text(number.select_one(".eqno")).rstrip("#"), anchor


def test_the_index_has_every_term_and_every_exercise(html: Path) -> None:
    index = {text(link) for link in soup(html / "genindex.html").select(".indextable a")}
    terms = [text(term).rstrip("#") for term in soup(html / "book" / "glossary.html").select("dl.glossary dt")]
    assert len(terms) >= 30
    assert terms == sorted(terms, key=str.casefold)
    assert set(terms) <= index
    targets = [str(link["href"]) for link in soup(html / "genindex.html").select(".indextable a")]
    for path in sorted((html / "book" / "chapters").glob("*.html")):
        cards = chapter(html, f"chapters/{path.name}").select(".admonition.exercise")
        linked = {target for target in targets if target.startswith(f"book/chapters/{path.name}#index-")}
        assert len(linked) >= len(cards) > 0, path.name
