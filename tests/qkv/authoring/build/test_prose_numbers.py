"""Numbers in prose are those that the cells printed."""

from __future__ import annotations

import re

import pytest

from qkv.authoring.build.chapter import Code, Prose
from qkv.authoring.build.printed import Printed
from qkv.authoring.build.prose_numbers import fill, unread

NEAR = Printed("""reader    4 pairs   48 pairs
window       1.00       0.17
full         0.98 ± 0.01   0.9612
a/b          3
""")
FAR = Printed("full 0.5\nlinear 12,400 steps")


def filled(text: str) -> str:
    return fill(text, [NEAR, FAR], {"reach": FAR})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It finds {window} and {window #2}.", "It finds 1.00 and 0.17."),
        (
            "The full one: {full}, in short {full:.1f} or {full #2:.0%}.",
            "The full one: 0.98 ± 0.01, in short 1.0 or 96 %.",
        ),
        ("{linear} of the cell before, {reach/full} of a claim", "12,400 of the cell before, 0.5 of a claim"),
        ("over\n{window\n#2}", "over\n0.17"),
        ("a label with a stroke, {a/b}", "a label with a stroke, 3"),
        ("{linear:,.1f}", "12,400.0"),
    ],
)
def test_a_slot_is_filled_from_the_nearest_cell_above(text: str, expected: str) -> None:
    assert filled(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{cite:t}`vaswani2017` and {term}`mask`",
        "$W_{window}$ and `{window}` and $$x_{full}$$",
        "{.lead}\nwords",
        "[words]{.verdict}",
        '```python\nf"{window}"\n```',
        "```{math}\nx_{window}\n```",
        "<!-- {window} -->",
    ],
)
def test_roles_code_and_math_stay(text: str) -> None:
    assert filled(text) == text


def test_a_box_is_prose() -> None:
    assert filled("```{admonition} Predict\nMore than {window #2}?\n```\n{full #2}") == (
        "```{admonition} Predict\nMore than 0.17?\n```\n0.9612"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{nowhere}", "the slot {nowhere} names 'nowhere', with which no line printed above begins"),
        ("{reach/window}", "the slot {reach/window} names 'window', with which no line printed above begins"),
        ("{window #3}", "no number 3 behind 'window' in the printed line 'window 1.00 0.17'"),
    ],
)
def test_a_slot_that_nothing_fills_is_told(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        filled(text)


def test_numbers_that_no_cell_printed_are_found() -> None:
    code = Code("rate = 0.003; share = 0.25", 1, (), (), "")
    prose = Prose(
        "At 0.003 it is right in 0.93 of cases, or 93 %,\nnot in 25 %, not {window}, $0.5$ or `0.7`.\n\n"
        "Section 3.2.1 of {cite:t}`vaswani2017` has 28.4.\n\nHere it is 28.4.",
        10,
    )
    assert list(unread([code, prose])) == [(10, "0.93"), (10, "93"), (15, "28.4")]
