"""The statements at the top level of a source, each with its text, its line and its names."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from proctor.source import stub
from proctor.source.names import Imported, Names, statement_names
from proctor.source.text import FunctionOrClass, Text, first_line


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """A statement at the top level of a source.

    Args:
        node: its syntax tree.
        line: its first, in the source.
        text: with its decorators.
        names: see `proctor.source.names.Names`.
        place: of the source, as messages speak of it: "cell 3 of work.ipynb".
    """

    node: ast.stmt
    line: int
    text: str
    names: Names
    place: str = ""

    @property
    def binds(self) -> frozenset[str]:
        return self.names.binds

    @property
    def needs(self) -> frozenset[str]:
        return self.names.needs

    @property
    def imports(self) -> tuple[Imported, ...]:
        return self.names.imports

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def is_star(self) -> bool:
        """Does it import all names of a module? Then the names that it binds are unknown."""
        return isinstance(self.node, ast.ImportFrom) and self.node.names[0].name == "*"

    @property
    def is_future(self) -> bool:
        """Does it change how the rest of the source is read?"""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    @property
    def is_stub(self) -> bool:
        return stub.is_stub(self.node)

    @property
    def defines(self) -> bool:
        """Is it there for the names that it binds, rather than for what it does?"""
        return defines(self.node)


def statements(text: Text | str) -> list[Statement]:
    """The statements of a source in order.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: Python cannot read it.
    """
    text = Text(text) if isinstance(text, str) else text
    return [Statement(node, first_line(node), text.of(node), statement_names(node)) for node in text.tree.body]


def defines(node: ast.stmt) -> bool:
    """Is this a definition, an import, an assignment, or a block of nothing else?

    What handlers of a `try` do, they do when a definition fails; what stands below `if __name__ == …` is a script.
    """
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If):
            if any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)):
                return False
            waiting += [inner for inner in (*node.body, *node.orelse) if not isinstance(inner, ast.Pass)]
        elif isinstance(node, ast.Try):
            waiting += (*node.body, *node.orelse, *node.finalbody)
        elif isinstance(node, ast.With):
            waiting += node.body
        elif not isinstance(node, SIMPLE) or (isinstance(node, ast.AnnAssign) and node.value is None):
            return False
    return True


SIMPLE = FunctionOrClass | ast.Import | ast.ImportFrom | ast.Assign | ast.AugAssign | ast.AnnAssign
