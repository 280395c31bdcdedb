"""The page of a chapter: outputs of the solved edition, nothing run, stale or broken books refused."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from bs4 import BeautifulSoup, Tag

from qkv.authoring.build.run import made_here
from qkv.authoring.publish.page import alt_texts, chapter_page
from qkv.authoring.publish.publishing import build_faults, publish_book
from qkv.course import AuthoringError, Course

pytestmark = pytest.mark.slow


def run_book(course: Course) -> tuple[int, str]:
    said: list[str] = []
    return publish_book(course, say=said.append), "\n".join(said)


@pytest.fixture(scope="module")
def html(built_once: Course, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny book, built once. What it is built from cannot run: its cells were made to fail if they did."""
    folder = tmp_path_factory.mktemp("book") / "course"
    shutil.copytree(built_once.root, folder)
    code, said = run_book(Course(folder))
    assert code == 0, said
    assert "no warnings, no cell run" in said
    return folder / "_build" / "html"


def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def one(found: Tag | None) -> Tag:
    assert found is not None
    return found


@pytest.fixture(scope="module")
def tiny_page(html: Path) -> BeautifulSoup:
    return soup(html / "book" / "chapters" / "01_tiny.html")


def test_stored_outputs_are_on_the_page(tiny_page: BeautifulSoup) -> None:
    outputs = [cell.get_text().strip() for cell in tiny_page.select(".cell_output")]
    assert "mean: passed" in outputs
    assert "5.0000" in outputs


def test_figures_have_their_words_and_their_size(tiny_page: BeautifulSoup) -> None:
    (image,) = tiny_page.select(".cell_output img")
    assert image["alt"] == "The mean rises from 3.3 at p = 0.5 towards 7 as p grows."
    assert "688px" in str(image["style"])


def test_an_exercise_is_a_card_with_its_stub_and_a_folded_solution(tiny_page: BeautifulSoup) -> None:
    cards = tiny_page.select(".admonition.exercise")
    assert [one(card.select_one(".admonition-title")).get_text() for card in cards] == [
        "Exercise 1.1: mean",
        "Exercise 1.2: Counter",
    ]
    text = cards[0].get_text()
    for words in (
        "2 points",
        "check(mean)",
        'hint("mean")',
        "raise NotImplementedError",
        "Not allowed here: the statistics",
    ):
        assert words in text
    assert "total" not in text
    cells = [one(card.select_one("a.open-cell")) for card in cards]  # `qkv start` knows where JupyterLab is
    assert [cell["data-cell"] for cell in cells] == ["01_tiny.ipynb#cell-id=mean", "01_tiny.ipynb#cell-id=Counter"]
    assert all(cell.has_attr("hidden") and not cell.has_attr("href") for cell in cells)
    solutions = tiny_page.select(".tag_solution details")
    assert len(solutions) == 2
    assert not any(solution.has_attr("open") for solution in solutions)
    assert "Show solution" in solutions[0].get_text()
    assert "# the sum first: it may overflow" in solutions[0].get_text()
    assert tiny_page.select_one("#exercise-mean") is not None


def test_the_page_names_the_machine_of_its_numbers(tiny_page: BeautifulSoup) -> None:
    line = one(tiny_page.select_one("p.made"))
    made = made_here()
    day = date.fromisoformat(made["date"])
    assert line.get_text() == (
        f"The numbers on this page are those of one run: {made['processor']}, PyTorch {made['torch']}, "
        f"{day.day} {day:%B %Y}. Yours may differ."
    )
    assert one(line.select_one("a"))["href"] == "../index.html#other-digits"


def test_the_first_cell_is_folded(tiny_page: BeautifulSoup) -> None:
    assert "Show imports" in one(tiny_page.select_one(".tag_setup details")).get_text()


def test_equations_have_the_numbers_of_the_notebook(tiny_page: BeautifulSoup) -> None:
    numbers = [number.get_text().strip().rstrip("#") for number in tiny_page.select(".eqno")]
    assert numbers == ["(1.1)", "(1.2)"]
    assert one(tiny_page.select_one('a.reference[href="#equation-power-mean"]')).get_text() == "(1.1)"


def test_the_notebook_to_download_is_the_student_edition(html: Path, tiny_page: BeautifulSoup) -> None:
    links = {str(link["href"]) for link in tiny_page.select("a[href$='.ipynb']")}
    assert links == {"../../notebooks/01_tiny.ipynb"}
    offered = html / "notebooks" / "01_tiny.ipynb"
    assert "raise NotImplementedError" in offered.read_text("utf-8")
    assert not list(html.rglob("_sources"))


def test_no_page_names_another_host(html: Path) -> None:
    for path in html.rglob("*.html"):
        page = soup(path)
        loaded = [tag.get("src") or tag.get("href") for tag in page.select("script[src], link[href], img[src]")]
        assert not [url for url in loaded if url and str(url).startswith(("http:", "https:", "//"))], path
        assert "thebe" not in path.read_text("utf-8").lower()


def test_formulas_are_set_without_a_script(html: Path, tiny_page: BeautifulSoup) -> None:
    formulas = tiny_page.select(".math")
    assert formulas
    for formula in formulas:
        assert formula.select_one("mjx-container > mjx-math")
        assert formula.select_one("mjx-assistive-mml > math")  # for those who listen
    assert not list(html.rglob("tex-chtml.js"))
    assert tiny_page.select_one('link[href*="math.css"]')


def test_launch_buttons_open_the_student_edition(built: Course) -> None:
    config = built.root / "_config.yml"
    hub = "repository: {url: 'https://github.com/someone/course', branch: main}\n"
    hosts = ("jupyterhub", "binderhub", "colab")
    urls = ", ".join(f"{host}_url: 'https://{host}.example'" for host in hosts)
    hub += f"launch_buttons: {{notebook_interface: jupyterlab, {urls}}}\n"
    config.write_text(config.read_text("utf-8") + hub, "utf-8")
    code, said = run_book(built)
    assert code == 0, said
    page = soup(built.root / "_build" / "html" / "book" / "chapters" / "01_tiny.html")
    launched = [str(link["href"]) for link in page.select(".dropdown-launch-buttons a")]
    assert sorted(urlparse(url).hostname or "" for url in launched) == sorted(f"{host}.example" for host in hosts)
    for url in launched:
        assert "notebooks/01_tiny.ipynb" in unquote(url)
        assert "book/chapters" not in unquote(url)


# ---- what is refused


def test_a_page_whose_code_was_not_run_is_refused(built: Course) -> None:
    chapter = built.chapters(["tiny"])[0]
    chapter.source.write_text(chapter.source.read_text("utf-8").replace("power=2.0", "power=3.0"), "utf-8")
    code, said = run_book(built)
    assert code == 1
    assert "solutions/01_tiny.ipynb is stale: the cell at line" in said
    assert "Refresh it with: qkv build tiny" in said
    assert "Traceback" not in said


def test_every_way_to_be_stale_is_told(built: Course) -> None:
    chapter = built.chapters(["second"])[0]
    text = chapter.source.read_text("utf-8")
    args = (str(built.root), "02_second")
    assert [cell.cell_type for cell in chapter_page(text, *args).cells] == ["markdown", "code", "markdown"]
    cell = "```{code-cell} ipython3\nprint(1 + 1)\n```"
    with pytest.raises(AuthoringError, match="holds cells that the chapter no longer has"):
        chapter_page(text.replace(cell, ""), *args)
    with pytest.raises(AuthoringError, match="was not run as it stands now"):
        chapter_page(f"{text}\n{cell}\n", *args)
    chapter.model.write_text("def thing():\n    return 1\n", "utf-8")
    with pytest.raises(AuthoringError, match=r"02_second.md:\d+: .*it has no exercise thing"):
        chapter_page(text.replace("print(1 + 1)", ":tags: [exercise]\n\nthing"), *args)
    chapter.solved.unlink()
    with pytest.raises(AuthoringError, match=r"it does not exist. Refresh it with: qkv build second"):
        chapter_page(text, *args)


def test_a_broken_link_fails_the_build_and_is_told_with_its_line(built: Course) -> None:
    chapter = built.chapters(["tiny"])[0]
    text = chapter.source.read_text("utf-8").replace(
        "The mean of $n$ numbers", "The [mean](#nowhere) of [some](02_lost.md) $n$ numbers"
    )
    chapter.source.write_text(text, "utf-8")
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "nowhere" in row)
    code, said = run_book(built)
    assert code == 1
    assert f"01_tiny.md:{line}: WARNING" in said
    assert "nowhere" in said
    assert "02_lost.md" in said
    assert "not built cleanly" in said


def test_execution_cannot_be_switched_on(built: Course) -> None:
    config = built.root / "_config.yml"
    config.write_text(config.read_text("utf-8").replace('execute_notebooks: "off"', "execute_notebooks: auto"), "utf-8")
    code, said = run_book(built)
    assert code == 1
    assert "execute_notebooks is 'auto'; it must be 'off'" in said


def test_a_run_cell_or_a_silent_failure_is_reported() -> None:
    assert build_faults("reading\nExecuting notebook using local CWD", 0) == [
        "a page ran code: Executing notebook using local CWD"
    ]
    assert build_faults("one\n\ntwo", 2) == ["one", "two"]
    assert build_faults("fine", 0) == []


def test_alt_texts_are_found_by_the_picture(built_once: Course) -> None:
    found = alt_texts(built_once.chapters(["tiny"])[0])
    assert list(found.values()) == ["The mean rises from 3.3 at p = 0.5 towards 7 as p grows."]
