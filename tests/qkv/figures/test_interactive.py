"""Figures that move: what stands in the page before any script runs, and what a reader can do with them after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import pytest

from qkv.figures.interactive import Choice, Interactive, Slider, interactive
from qkv.figures.positions import wavelengths

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def made(alt: str = "A <wave>.") -> Interactive:
    still, _ = plt.subplots()
    controls = [Slider("d", "width", (2, 1000), 1000), Choice("kind", "kind of <wave>", ("sine", "cosine"), "cosine")]
    return interactive("Which?", controls=controls, draw="wavelengths.js", still=still, alt=alt, data={"n": 3})


def test_without_scripts_there_is_the_still_picture_alone():
    before, _, _ = made().html.partition("<script>")
    assert '<div class="still"><img src="data:image/png;base64,' in before
    assert 'alt="A &lt;wave&gt;." width="688" height="320"' in before
    assert "<input" not in before
    assert "<svg" not in before


def test_the_script_gets_controls_and_data():
    html = made().html
    controls = html.rpartition("const controls = ")[2]
    assert '"values": [2, 1000], "start": 1' in controls
    assert '"kind": "select", "name": "kind", "label": "kind of <wave>"' in controls
    assert html.rpartition("live(")[2].partition("\n")[0].endswith('", draw, {"n": 3});')


def test_data_cannot_end_the_script():
    still, _ = plt.subplots()
    html = interactive("?", controls=[], draw="wavelengths.js", still=still, alt="A.", data="</script>").html
    assert html.count("</script>") == 1


def test_nothing_is_fetched_and_nothing_is_random():
    html = made().html
    assert html == made().html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


def test_a_notebook_shows_it_and_a_terminal_says_it():
    figure = made(" A wave\n   and a line. ")
    assert figure._repr_html_() == figure.html
    assert repr(figure) == "Figure: A wave and a line."


def test_words_for_those_who_cannot_see_it_are_required():
    with pytest.raises(ValueError, match=r"interactive needs alt text: say in a sentence what there is to see"):
        made(" ")


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 900])
def test_the_keyboard_moves_it(browser: Browser, tmp_path: Path, theme: str, width: int):
    path = tmp_path / "page.html"
    head = f'<!doctype html><html data-theme="{theme}"><meta charset="utf-8">'
    path.write_text(f"{head}<body>{wavelengths().html}</body></html>", encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    assert page.is_hidden(".still")
    assert "5 of 8 pairs" in page.inner_text(".said")
    page.focus("input[name=trained]")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert page.get_attribute("input[name=trained]", "aria-valuetext") == "512"
    assert "4 of 8 pairs" in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert said == []


@pytest.mark.browser
def test_without_scripts_the_picture_stays(browser: Browser, tmp_path: Path):
    path = tmp_path / "page.html"
    path.write_text(f'<meta charset="utf-8">{wavelengths().html}', encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.is_visible(".still img")
    assert page.query_selector("input") is None
    context.close()
