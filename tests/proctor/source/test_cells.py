"""Cells of IPython as Python: what is left out, and that it is found in one pass."""

from __future__ import annotations

import ast

import pytest

from proctor.source import cells


def test_lines_keep_their_numbers() -> None:
    text = cells.parse_cell("%%time\na = 1\n!ls \\\n  -l\n\nb = (1\n% 2)\ntorch?\n")
    assert text.source == "\na = 1\npass\n\n\nb = (1\n% 2)\npass\n"
    assert [node.lineno for node in text.tree.body] == [2, 3, 6, 8]


def test_a_cell_in_another_language_is_empty() -> None:
    assert not cells.parse_cell("%%bash\nls").tree.body


def test_what_is_wrong_without_magics_is_told_as_python_tells_it() -> None:
    with pytest.raises(SyntaxError, match="was never closed"):
        cells.parse_cell("a = (1")


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("    def f(x):\n        return x\n\n    y = 1", "def f(x):\n    return x\n\ny = 1"),
        (">>> def f(x):\n...     return x\n...\n>>> f(1)", "def f(x):\n    return x\n\nf(1)"),
        ("In [3]: def f(x):\n   ...:     return x", "def f(x):\n    return x"),
        ("files = {}\nfiles['a'] = !ls\nx = 1", "files = {}\npass\nx = 1"),
        ("  %cd ..\n  x = 1", "pass\nx = 1"),
    ],
)
def test_what_ipython_forgives_is_forgiven(cell: str, source: str) -> None:
    assert cells.parse_cell(cell).source == source


@pytest.mark.parametrize("cell", ["  x = 1\n y = 2\nz = (", "if x:\ny = 1", ">>> x = ("])
def test_what_it_does_not_forgive_is_not(cell: str) -> None:
    with pytest.raises(SyntaxError):
        cells.parse_cell(cell)


def test_magics_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text: calls.append(text) or parse(text))
    cells.parse_cell("a = 1\n" * 200 + "!ls\n%time x = (\nx = !pwd\ntorch?\n" * 500)
    assert len(calls) == 2


@pytest.mark.parametrize(
    "line",
    [" " * 10**6 + ")", "\t " * 10**6, "a, " * 10**6, "a = " + " " * 10**6, "x = '" * 999_999 + "?", "(" * 10**6],
)
def test_the_time_for_a_line_grows_with_its_length_and_not_with_the_square(line: str) -> None:
    assert cells.MAGIC.match(line) is None  # in milliseconds; the square would take hours
    assert list(cells.magic_lines([line] * 2)) == []
