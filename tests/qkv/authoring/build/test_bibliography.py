"""Citations in notebooks: who, when, and a link."""

from __future__ import annotations

from pathlib import Path

from qkv.authoring.build.bibliography import citations
from qkv.course import Course


def test_citations_have_names_year_and_link(tiny: Course) -> None:
    found = citations(tiny.root)
    assert found["hoelder1889"].textual == "[Hölder (1889)](https://example.org/hoelder)"
    assert found["three2020"].textual == "[van der Berg et al. (2020)](https://arxiv.org/abs/2001.00001)"
    assert found["three2020"].parenthetical == "([van der Berg et al., 2020](https://arxiv.org/abs/2001.00001))"


def test_two_authors_are_both_named(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "references.bib").write_text(
        "@misc{two, author = {One, Ann and {\\L}uk, Bo}, title = {T}, year = {2001}, url = {https://example.org}}",
        "utf-8",
    )
    assert citations(tmp_path)["two"].authors == "One and Łuk"


def test_a_course_without_papers_cites_nothing(tmp_path: Path) -> None:
    assert citations(tmp_path) == {}
