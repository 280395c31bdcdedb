"""The definitions that a text reaches: from its imports, through all that those use.

A statement at the top of a module counts if it binds a name that is reached, or if it binds none and so is there for
what it does. A function that nothing here uses does not count, so writing one changes nothing for others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from proctor.source.closure import Module
from proctor.source.names import Imported, statement_names
from proctor.source.statements import Statement, statements


@dataclass
class Reached:
    """The part of one module that is reached."""

    path: Path  # of its file
    module: Module  # all of its statements
    chosen: set[Statement] = field(default_factory=set)  # the statements that are reached

    def add(self, names: frozenset[str] | None) -> Iterator[Imported]:
        """Take names (None: all of them) and all that they use; gives what that imports."""
        waiting = [s for s in self.module.statements if names is None or acts(s) or s.binds & names]
        while waiting:
            statement = waiting.pop()
            if statement not in self.chosen:
                self.chosen.add(statement)
                yield from statement.imports
                waiting += [other for name in statement.needs for other in self.module.binding.get(name, ())]

    def statements(self) -> list[Statement]:
        """The statements that are reached, in order."""
        return [statement for statement in self.module.statements if statement in self.chosen]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def reach(
    texts: Iterable[str],
    whole: Iterable[str],
    find: Callable[[str], Path | None],
    read: Callable[[Path], str] = _read,
) -> dict[str, Reached]:
    """Module -> what is reached of it.

    Args:
        texts: code that imports, such as the cells of a chapter.
        whole: modules that count in full.
        find: the file of a module, or None if it is not followed.
        read: the text of a file.
    """
    found: dict[str, Reached] = {}
    waiting = [Imported(name, None) for name in whole]
    waiting += [asked for text in texts for statement in module_of(text).statements for asked in statement.imports]
    while waiting:
        name, names = waiting.pop()
        if names:  # `from a import b` may mean the module a.b
            inner = [Imported(f"{name}.{part}", None) for part in names if find(f"{name}.{part}") is not None]
            waiting += inner
            names = names - {full.rpartition(".")[2] for full, _ in inner}
        path = find(name)
        if path is None:
            continue
        if name not in found:
            found[name] = Reached(path, module_of(read(path)))
            waiting.append(Imported(name.rpartition(".")[0], frozenset()))  # its package is run, too
        waiting += found[name].add(names)
    return found


def acts(statement: Statement) -> bool:
    """Is it there for what it does? Then it gives no name a value, or changes how the module is read."""
    return statement.binds == statement.names.changes or statement.is_future


@cache  # all chapters reach the same modules
def module_of(text: str) -> Module:
    """The statements of a text, each import on its own; none if it cannot be parsed (a cell with a magic)."""
    try:
        found = statements(text)
    except SyntaxError:
        return Module(())
    return Module(part for statement in found if not _is_docstring(statement.node) for part in _one_by_one(statement))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _one_by_one(statement: Statement) -> Iterator[Statement]:
    """An import of several names as several imports."""
    node = statement.node
    if not isinstance(node, ast.Import | ast.ImportFrom):
        yield statement
        return
    for alias in node.names:
        one = copy(node)
        one.names = [alias]
        yield replace(statement, node=one, names=statement_names(one))
