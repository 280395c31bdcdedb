"""How a page offers a figure's drawing for phones."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from qkv.authoring.build import measured
from qkv.authoring.publish import phone_figures
from qkv.figures import style

IMAGE = '<a href="../_images/ab12.png"><img alt="A line." src="../_images/ab12.png" style="width: 688px;" /></a>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a page lies whose figure `ab12` has a drawing for phones."""
    images = tmp_path / "_images"
    images.mkdir()
    Image.new("RGB", (720, 500)).save(images / "ab12-phone.png")
    (tmp_path / "chapters").mkdir()
    return tmp_path / "chapters"


def test_the_browser_may_choose(folder: Path) -> None:
    html = phone_figures.with_drawings(IMAGE, folder)
    source = '<source media="(max-width: 600px)" srcset="../_images/ab12-phone.png" width="720" height="500"/>'
    assert html == IMAGE.replace("<img", f"<picture>{source}<img").replace("</a>", "</picture></a>")


def test_again_is_no_harm(folder: Path) -> None:
    once = phone_figures.with_drawings(IMAGE, folder)
    assert phone_figures.with_drawings(once, folder) == once


def test_a_picture_without_such_a_drawing_stays_as_it_is(folder: Path) -> None:
    other = IMAGE.replace("ab12", "cd34")
    assert phone_figures.with_drawings(other, folder) == other


def test_the_two_sides_call_it_the_same() -> None:
    assert measured.PHONE == style.PHONE


def test_it_is_drawn_for_the_book_only_so_it_is_not_compared() -> None:
    stored = {"output_type": "display_data", "data": {"image/png": "x", measured.PHONE: "y"}}
    shown = {"output_type": "display_data", "data": {"image/png": "z"}}
    before, after = measured.comparable([stored], [shown], [])
    assert before == after
