"""Text of statements, and statements put back at their own lines."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.source.statements import statements
from proctor.source.text import Text, at_their_lines

from . import programs


def test_a_statement_has_its_decorators_and_nothing_of_its_neighbours() -> None:
    found = statements("ä = 'ü'; b = ä  # c\n\n@x\n@y(\n 1)\nclass C:\n    pass; d = 1\n")
    assert [(one.line, one.text) for one in found] == [
        (1, "ä = 'ü'"),
        (1, "b = ä"),
        (3, "@x\n@y(\n 1)\nclass C:\n    pass; d = 1"),
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(programs.statements, max_size=5), st.sampled_from(["\n", "\n\n\n", "  # äöü\n"]))
def test_the_text_of_a_statement_is_that_statement_at_its_line(parts: list[str], between: str) -> None:
    source = between.join(parts)
    found = statements(source)
    assert [ast.dump(one.node) for one in found] == [ast.dump(ast.parse(one.text).body[0]) for one in found]
    again = ast.parse(at_their_lines(found))
    assert ast.dump(again, include_attributes=True) == ast.dump(Text(source).tree, include_attributes=True)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["x = 1", "def f():\n    return 1", "x = 1; y = 2", "", "# a"]), max_size=20), st.data()
)
def test_tracebacks_of_what_was_cut_out_have_their_own_lines(before: list[str], data: st.DataObject) -> None:
    source = "\n".join([*before, "def fails():", "    x = 1", "    x / 0"])
    found = statements(source)
    kept = [one for one in found[:-1] if data.draw(st.booleans())]
    namespace: dict[str, Any] = {}
    exec(compile(at_their_lines([*kept, found[-1]]), "<cut>", "exec"), namespace)
    with pytest.raises(ZeroDivisionError) as caught:
        namespace["fails"]()
    assert caught.traceback[-1].lineno + 1 == len(source.split("\n"))  # which pytest counts from 0
