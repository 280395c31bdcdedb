"""Python source and its syntax tree: which characters a node stands for, and statements put back at their own lines."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

Function = ast.FunctionDef | ast.AsyncFunctionDef
FunctionOrClass = Function | ast.ClassDef


class Text:
    """Python source, parsed.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: Python cannot read it.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes and comparisons in the text
            self.tree = ast.parse(source)

    @cached_property
    def _bytes(self) -> bytes:  # a column of the tree counts bytes
        return self.source.encode()

    @cached_property
    def _starts(self) -> list[int]:
        """The offset of each line."""
        starts = [0]
        for line in self._bytes.split(b"\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The bytes of a node, without its decorators."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def words(self, start: int, end: int) -> str:
        """The text between two byte offsets."""
        return self._bytes[start:end].decode()

    def of(self, node: ast.stmt) -> str:
        """The text of a statement with its decorators, and without what else stands on its lines (`a = 1; b = 2`)."""
        start, end = self.span(node)
        first = first_line(node)
        return self.words(start if first == node.lineno else self._starts[first - 1], end)


def first_line(node: ast.stmt) -> int:
    """The first line of a statement: that of a decorator, if it has one."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def body_of(node: FunctionOrClass) -> list[ast.stmt]:
    """The statements of a definition without its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


class Line(Protocol):
    """A piece of text, and the line where it begins."""

    @property
    def line(self) -> int: ...

    @property
    def text(self) -> str: ...


def at_their_lines(pieces: Iterable[Line]) -> str:
    """Statements of one source as a text in which each stands at its own line, so that tracebacks are right."""
    lines: list[str] = []
    for piece in pieces:
        first, *rest = piece.text.split("\n")
        lines += [""] * (piece.line - 1 - len(lines))
        if len(lines) >= piece.line:  # it shares its line with the one before
            lines[-1] += f"; {first}"
            lines += rest
        else:
            lines += [first, *rest]
    return "\n".join(lines) + "\n"
