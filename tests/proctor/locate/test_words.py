"""Sentences about a line say how much of what failed is mended, and where a step is missing."""

from __future__ import annotations

from proctor.locate import words


def test_a_step_is_missing_after_a_line_and_something_may_be_left() -> None:
    said = words.one_change("line 4", "x = 1", "missing step", 9, agree=7, after=True)
    assert said == (
        "One more step after line 4, `x = 1`, makes 7 of the 9 checks pass: look at what may be missing. "
        "Something else is left."
    )


def test_a_place_is_blamed_for_what_it_mends() -> None:
    assert words.proved_sentence("line 4", "x", 2, 5, 5, known=False) == (
        "Look at line 4, and at what goes into it: with the right value in place of `x`, "
        "your answer passes 2 of the 5 checks of values that it fails now, and something else is left."
    )
    assert words.proved_sentence("line 4", "x", 2, 2, 5, known=True).startswith(
        "Look at line 4: with the right value in place of `x`, your answer passes 2 of the 5 checks of values that it "
        "fails now; in the others that could not be tried."
    )
    assert words.proved_sentence("line 4", "x[0] = 1", 1, 1, 1, known=True, holder="x").startswith(
        "Look at line 4: with the right value in what `x` holds after `x[0] = 1`, your answer passes the check of "
        "values that it fails now."
    )
    assert words.part_sentence("line 4", "x", 3, 8, known=True) == (
        "Look at line 4: with the right value in place of `x`, 3 of the 8 entries that are wrong here become right."
    )


def test_a_place_whose_inputs_may_be_wrong_names_their_lines() -> None:
    assert words.look_at("line 4", known=True, before=[2]) == "Look at line 4"
    assert words.look_at("line 4", known=False, before=[2]) == "Look at line 4, and at line 2, which goes into it"
    assert words.look_at("line 4", known=False, before=[1, 2, 3]) == (
        "Look at line 4, and at lines 1, 2 and 3, which go into it"
    )
    assert words.part_sentence("line 4", "x", 8, 8, known=False, before=[2, 3]).startswith(
        "Look at line 4, and at lines 2 and 3, which go into it: with the right value in place of `x`, every entry"
    )


def test_other_lines_with_the_same_code_are_named() -> None:
    assert words.same_again(["line 31", "line 33"]) == " The same stands in line 31 and line 33."
    assert words.same_again([]) == ""


def test_arguments_are_listed() -> None:
    assert words.unread_sentence(["a", "b", "c"]) == "Your code never looks at `a`, `b` and `c`."
