"""What is left out of built pages, and what must stay."""

from __future__ import annotations

from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from PIL import Image, ImageChops

from qkv.authoring.publish.prune_assets import (
    can_match,
    lighter_fonts,
    lighter_page,
    lighter_picture,
    lighter_styles,
    split,
    unescaped,
)


def test_a_rule_stays_if_one_of_its_selectors_can_match() -> None:
    css = ".used, .gone { color: red } .gone .used { color: blue } p { margin: 0 }"
    assert lighter_styles(css, {"used"}) == ".used{color: red}\np{margin: 0}"


def test_rules_inside_of_a_condition_are_looked_at_and_other_blocks_stay() -> None:
    css = "@media print { .gone { a: b } .used { a: b } } @media screen { .gone { a: b } } @font-face { src: url(x) }"
    assert lighter_styles(css, {"used"}) == "@media print{.used{a: b}}\n@font-face { src: url(x) }"


@pytest.mark.parametrize(
    "selector",
    ["a:not(.gone)", ".used:hover > p", ":is(.gone, .used)", '[class*=".gone"] .used', r".sd\-used", "::root"],
)
def test_what_may_match_is_kept(selector: str) -> None:
    assert can_match(selector, {"used", "sd-used"})


def test_selectors_are_parted_at_their_own_commas() -> None:
    assert split("a:is(.b, .c), d[e='f,g']") == ["a:is(.b, .c)", "d[e='f,g']"]


def test_a_page_loses_what_it_does_not_need() -> None:
    head = (
        '  <script defer src="../_static/scripts/fontawesome.js?digest=1"></script>\n'
        '  <link rel="preload" as="font" href="fa-solid-900.woff2" />\n'
        '  <script src="../_static/searchtools.js"></script>\n'
        '  <script src="../searchindex.js"></script>\n'
        '  <script src="../_static/doctools.js"></script>\n'
    )
    doctools = '  <script src="../_static/doctools.js"></script>\n'
    assert lighter_page(head, Path("index.html")) == doctools
    assert lighter_page(head, Path("search.html")) == head.split("\n", 2)[2]


def test_figures_keep_their_place_and_wait_until_they_are_near(tmp_path: Path) -> None:
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "1.png").write_bytes(gradient())
    page = '<img alt="a" src="_images/1.png"><img src="_static/logo.svg">'
    lighter = lighter_page(page, tmp_path / "index.html")
    figure = '<img loading="lazy" width="300" height="200" alt="a" src="_images/1.png">'
    assert lighter == figure + '<img src="_static/logo.svg">'
    assert lighter_page(lighter, tmp_path / "index.html") == lighter


def test_a_bibliography_is_no_list_without_items() -> None:
    page = '<div role="list" class="citation-list"><div class="citation" role="doc-biblioentry"><ul role="list">'
    lighter = lighter_page(page, Path("index.html"))
    assert lighter == '<div class="citation-list"><div class="citation"><ul role="list">'


AREA = (222, 235, 247, 255)  # a pale blue: which side of 0 a cell of a map is on


def gradient() -> bytes:
    """Many shades, an area of one colour, and a clear corner."""
    round_about, down = (make("L").resize((300, 200)) for make in (Image.radial_gradient, Image.linear_gradient))
    picture = Image.merge("RGBA", [round_about, down, down.rotate(180), Image.new("L", (300, 200), 255)])
    picture.paste(AREA, (200, 150, 240, 190))
    picture.putpixel((0, 0), (0, 0, 0, 0))
    file = BytesIO()
    picture.save(file, format="PNG")
    return file.getvalue()


def test_a_picture_keeps_its_look_its_areas_and_its_transparency() -> None:
    before = Image.open(BytesIO(gradient()))
    png = lighter_picture(gradient())
    after = Image.open(BytesIO(png)).convert("RGBA")
    assert len(png) < len(gradient())
    assert after.getpixel((0, 0)) == (0, 0, 0, 0)
    assert after.getpixel((220, 170)) == AREA
    assert max(high for _, high in ImageChops.difference(before, after).getextrema()) < 24
    assert lighter_picture(png) == png


def test_a_picture_inside_of_a_page_is_made_lighter_too() -> None:
    page = f'<img src="data:image/png;base64,{b64encode(gradient()).decode()}">'
    inside = lighter_page(page, Path("index.html")).split(",")[1].rstrip('">')
    assert b64decode(inside) == lighter_picture(gradient())


def test_css_escapes_are_read() -> None:
    assert unescaped(r"\f002") == "\uf002"
    assert unescaped(r"\27E8 x\"") == '⟨x"'


def test_fonts_keep_what_a_style_draws(tmp_path: Path) -> None:
    (tmp_path / "styles").mkdir()
    icons = tmp_path / "vendor" / "fontawesome" / "webfonts"
    icons.mkdir(parents=True)
    builder = FontBuilder(unitsPerEm=100)
    glyphs = [".notdef", "bars", "gone"]
    builder.setupGlyphOrder(glyphs)
    builder.setupCharacterMap({0xF0C9: "bars", 0xF111: "gone"})
    builder.setupGlyf({name: TTGlyphPen(None).glyph() for name in glyphs})
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (100, 0)))
    builder.setupHorizontalHeader()
    builder.setupPost()
    builder.save(icons / "fa-solid-900.ttf")
    theme = tmp_path / "styles" / "pydata-sphinx-theme.css"
    source = 'url(../w/fa-solid-900.woff2) format("woff2"),url(../w/fa-solid-900.ttf) format("truetype")'
    theme.write_text(f'.fa-bars:before{{content:"\\f0c9"}}@font-face{{src:{source}}}', "utf-8")
    lighter_fonts(tmp_path)
    assert [path.name for path in icons.iterdir()] == ["fa-solid-900.woff"]
    assert TTFont(icons / "fa-solid-900.woff").getBestCmap().keys() == {0xF0C9}
    assert '@font-face{src:url(../w/fa-solid-900.woff) format("woff")}' in theme.read_text("utf-8")
