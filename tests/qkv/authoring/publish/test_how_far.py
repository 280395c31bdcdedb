"""How far a build of the book is, read from what Sphinx prints."""

from __future__ import annotations

import io

from qkv.authoring.publish.how_far import MARK, HowFar, steps

SPHINX = [
    "loading pickled environment... done",
    "reading sources... [  3%] book/chapters/01_lookup",
    "reading sources... [  3%] book/chapters/01_lookup",
    "reading sources... [ 11%] book/chapters/02_scaling",
    "reading sources... [ 12%] book/chapters/03_heads",
    "writing output... [100%] index",
]


def test_each_step_is_told_once() -> None:
    assert list(steps(SPHINX)) == [("pages read", 3), ("pages read", 11), ("pages read", 12), ("pages written", 100)]


def test_without_a_terminal_a_line_for_every_tenth() -> None:
    out = io.StringIO()
    how_far = HowFar(out)
    for line in SPHINX:
        how_far.on(line)
    how_far.end()
    said = ["pages read, 3 %", "pages read, 11 %", "pages written, 100 %"]
    assert out.getvalue().splitlines() == [f"{MARK}{line}" for line in said]


def test_at_a_terminal_the_line_is_written_over_and_removed() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    how_far = HowFar(out)
    for line in SPHINX:
        how_far.on(line)
    how_far.end()
    assert "\n" not in out.getvalue()
    assert out.getvalue().count("pages read") == 3
    assert out.getvalue().endswith(" \r")
