"""Formulas that are set while the book is built."""

from __future__ import annotations

import pytest

from qkv.authoring.publish.typeset import displayed, mathjax, typeset


def test_a_formula_carries_its_glyphs_and_its_meaning() -> None:
    html = typeset(r"\sqrt{d_k}", display=False)
    assert '<mjx-math class=" MJX-TEX" aria-hidden="true">' in html
    assert "mjx-c1D451" in html  # 𝑑
    assert "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>" in html
    assert 'display="true"' not in html
    assert 'display="true"' in typeset("x", display=True)


def test_a_formula_that_is_wrong_is_told() -> None:
    with pytest.raises(
        ValueError, match=r"MathJax does not understand '\\\\nosuch': Undefined control sequence \\nosuch"
    ):
        typeset(r"\nosuch", display=False)


def test_the_styles_draw_every_glyph_and_name_their_fonts() -> None:
    styles = str(mathjax().call("styles"))
    assert "mjx-c.mjx-c1D451.TEX-I::before" in styles
    assert 'url("math-fonts/MathJax_Main-Regular.woff")' in styles


def test_lines_of_a_display_are_aligned() -> None:
    assert displayed("a = b", whole=False) == "a = b"
    assert displayed(r"a &= b \\ c &= d", whole=False) == r"\begin{split}a &= b \\ c &= d\end{split}"
    assert displayed("a\n\nb", whole=False) == r"\begin{gathered}a\\b\end{gathered}"
    assert displayed(r"\begin{align}a \\ b\end{align}", whole=True) == r"\begin{align}a \\ b\end{align}"
