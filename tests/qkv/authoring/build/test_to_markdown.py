"""MyST as plain JupyterLab shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from qkv.authoring.build.bibliography import Citation
from qkv.authoring.build.to_markdown import EXTENSIONS, Plain, anchors
from qkv.course import AuthoringError, Chapter

CHAPTER = Chapter(Path("/course"), "02_scaling")


CITATIONS = {"one2020": Citation("One", "2020", "https://example.org/one")}


def lower(text: str, **headings: dict[str, str]) -> str:
    plain = Plain(CHAPTER, headings, {"elsewhere": "1.3"}, CITATIONS)
    plain.number_equations(text)
    return plain.lower(text, first_line=10)


def test_an_admonition_is_a_block_quote_with_a_bold_title() -> None:
    text = "Before.\n\n```{admonition} Predict\n:class: predict\n\nWhat is $x$?\n\n- one\n- two\n```\n\nAfter."
    assert lower(text) == "Before.\n\n> **Predict**\n>\n> What is $x$?\n>\n> - one\n> - two\n\nAfter."


def test_a_note_without_a_title_is_called_after_its_kind() -> None:
    assert lower(":::{note}\nWords.\n:::") == "> **Note**\n>\n> Words."


def test_dropdowns_are_details() -> None:
    expected = "<details>\n<summary>By <code>hand</code> &lt; fast</summary>\n\nA $b$.\n\n</details>"
    assert lower(":::{dropdown} By `hand` < fast\nA $b$.\n:::") == expected
    assert lower(":::{admonition} By `hand` < fast\n:class: tip dropdown\nA $b$.\n:::") == expected


def test_directives_nest() -> None:
    text = "::::{admonition} Outer\n:::{dropdown} Inner\nDeep.\n:::\n::::"
    assert lower(text) == ("> **Outer**\n>\n> <details>\n> <summary>Inner</summary>\n>\n> Deep.\n>\n> </details>")


def test_a_directive_in_a_list_keeps_its_indent() -> None:
    assert lower("- item\n\n  ```{note}\n  Words.\n  ```") == "- item\n\n  > **Note**\n  >\n  > Words."
    assert lower("- ```{note}\n  Words.\n  ```\n- two") == "- > **Note**\n  >\n  > Words.\n- two"
    assert lower("> ```{note}\n> Words.\n> ```") == "> > **Note**\n> >\n> > Words."
    assert lower("- item\n\n  $$ a $$ (one)") == "- item\n\n  $$\n  a \\tag{2.1}\n  $$"


def test_labelled_equations_carry_the_number_that_the_page_gives_them() -> None:
    text = (
        "$$\na = b\n$$ (first)\n\nPlain:\n\n$$ c = d $$\n\n```{math}\n:label: second\n\ne = f\n```\n\n"
        "As {eq}`first` and {eq}`second` say."
    )
    assert lower(text) == (
        "$$\na = b \\tag{2.1}\n$$\n\nPlain:\n\n$$ c = d $$\n\n$$\ne = f \\tag{2.2}\n$$\n\nAs (2.1) and (2.2) say."
    )
    assert lower("$$ a = b $$ (one)") == "$$\na = b \\tag{2.1}\n$$"
    aligned = "$$\n\\begin{align}\na &= b\n\\end{align}\n$$ (one)"
    assert lower(aligned) == "$$\n\\begin{align}\na &= b \\tag{2.1} \\end{align}\n$$"


def test_equations_of_other_chapters_keep_their_number() -> None:
    assert lower("$$ a $$ (own)\n\n{eq}`own` is not {eq}`elsewhere`.").endswith("(2.1) is not (1.3).")


def test_citations_are_links() -> None:
    assert lower("As {cite:t}`one2020` said {cite:p}`one2020`.") == (
        "As [One (2020)](https://example.org/one) said ([One, 2020](https://example.org/one))."
    )


def test_entries_of_the_index_leave_their_words() -> None:
    assert lower("One.\n\n```{index} single: mean\n```\n\nA {index}`power mean <mean; power>`.") == (
        "One.\n\n\nA power mean."
    )


def test_links_lead_to_notebooks() -> None:
    headings = {"01_lookup": {"a-soft-lookup": "A-soft-lookup"}, "02_scaling": {"why-divide": "Why-divide"}}
    text = (
        "[one](01_lookup.md), [two](01_lookup.md#a-soft-lookup), [`three`](#why-divide), [four](https://x.org/a.md#b)"
    )
    assert lower(text, **headings) == (
        "[one](01_lookup.ipynb), [two](01_lookup.ipynb#A-soft-lookup), [`three`](#Why-divide), [four](https://x.org/a.md#b)"
    )
    assert lower("[claims](../claims.md#x) ![p](../_static/p.png)") == (
        "claims (in the book) ![p](../book/_static/p.png)"  # JupyterLab serves notebooks/ alone
    )


def test_code_is_left_alone() -> None:
    text = "`{eq}` and ``[a](b.md) `x` `` stay.\n\n```python\nx = '[a](b.md)'  # $$ {eq}`y`\n(label)=\n```"
    assert lower(text) == text
    indented = "Text.\n\n    {eq}`y`\n\nText."
    assert lower(indented) == indented


def test_targets_and_comments_vanish_and_roles_become_text() -> None:
    text = (
        "(here)=\n## Title\n% a comment\nSee {ref}`the part <there>`, {term}`query`, {math}`x^2`, press {kbd}`Shift`."
    )
    assert lower(text) == "## Title\nSee the part, query, $x^2$, press <kbd>Shift</kbd>."


def test_figures_and_tables() -> None:
    assert lower("```{figure} ../_static/a.svg\n:alt: A thing\n\nA caption.\n```") == (
        "![A thing](../book/_static/a.svg)\n\nA caption."
    )
    assert lower("```{table} Numbers\n| a |\n|---|\n| 1 |\n```") == "**Numbers**\n\n| a |\n|---|\n| 1 |"


def test_what_has_no_plain_form_is_refused_with_its_line() -> None:
    with pytest.raises(AuthoringError, match=r"02_scaling.md:12: \{list-table\} has no form .* Use one of admonition"):
        lower("One.\n\n```{list-table}\n* - a\n```")
    with pytest.raises(AuthoringError, match=r"the role \{cite\} has no form that plain JupyterLab shows"):
        lower("{cite}`vaswani`")
    with pytest.raises(AuthoringError, match=r"02_scaling.md:10: no equation is labelled lost\."):
        lower("{eq}`lost`")
    with pytest.raises(AuthoringError, match=r"02_scaling.md:14: no equation is labelled lost\."):
        lower("One.\n:::{note}\n:class: a\n\n{eq}`lost`\n:::")
    with pytest.raises(AuthoringError, match=r"lost2020 is cited, but not in book/references.bib\."):
        lower("{cite:t}`lost2020`")
    with pytest.raises(
        AuthoringError,
        match=r"02_scaling.md:12: .* opens no directive, because its title holds backticks. Fence it with colons",
    ):
        lower("One.\n\n```{admonition} About `x`\nWords.\n```")


def test_text_is_read_as_the_page_reads_it(root: Path) -> None:
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    assert set(config["parse"]["myst_enable_extensions"]) == EXTENSIONS


def test_anchors_of_headings() -> None:
    text = "# A $d_k$ and `code`\n\n## Why divide?\n\n```python\n# no heading\n```"
    assert anchors(text) == {"a--and-code": "A-$d_k$-and-code", "why-divide": "Why-divide?"}
