"""The pages in a real browser: they fit, they ask nobody for anything, and hostile text does nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from proctor.examining.result import Explanation, Result
from proctor.grading.journal import GradedSubmission
from proctor.report.write import write_reports

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = "<script>document.title = 'gone'</script><img src=x onerror=\"document.title='gone'\">"


@pytest.fixture
def graded(tmp_path: Path, sample: Any) -> Path:
    names = [exercise.name for exercise in sample.assignment().exercises]
    why = (Explanation(f"You triple x. {EVIL}", EVIL),)
    wrong = [Result(n, "not_yet", 0.5, 1, 2, ("tripled",), why, EVIL, (EVIL * 3,), EVIL) for n in names]
    right = [Result(n, "passed", 1.0, 2, 2) for n in names]
    stopped = [Result(n, "stopped", 0.0, 0, 2, (), why) for n in names]
    students = {"anna": right, "陈 伟": wrong, "b" * 60: stopped, "&<zoë>?#": wrong}
    marked = [GradedSubmission(name, "d", tuple(results), (EVIL,)) for name, results in students.items()]
    write_reports(tmp_path, sample.assignment(), marked)
    return tmp_path


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_fits_and_stays_at_home(graded: Path, browser: Browser, scheme: Any, width: int) -> None:
    pages = [graded / "summary.html", *sorted((graded / "feedback").iterdir())]
    assert len(pages) == 5
    for path in pages:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        asked: list[str] = []
        trouble: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.on("console", lambda message, trouble=trouble: trouble.append(message.text))
        page.on("pageerror", lambda error, trouble=trouble: trouble.append(str(error)))
        page.goto(path.as_uri())
        assert asked == [page.url]
        assert trouble == []
        assert page.title() != "gone"
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()


@pytest.mark.browser
def test_the_summary_leads_to_a_students_page(graded: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((graded / "summary.html").as_uri())
    for name in ("陈 伟", "&<zoë>?#"):
        page.get_by_role("link", name=name, exact=True).first.click()
        assert page.get_by_role("heading", level=1).inner_text() == f"Feedback for {name}"
        page.go_back()
    page.close()
