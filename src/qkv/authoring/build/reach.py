"""Which definitions of which modules a text reaches: from what it imports, through all that those use.

A statement at the top of a module counts if it binds a name that is reached, or if it binds none and so is there for
what it does. A function that nothing here uses does not count, so writing one changes nothing for others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Names = frozenset[str] | None  # of a module; None: all of them
Request = tuple[str, Names]


@dataclass(frozen=True)
class Statement:
    """A statement at the top of a module: what it binds, what it uses, and what of other modules it asks for."""

    node: ast.stmt
    binds: frozenset[str]
    uses: frozenset[str]
    asks: tuple[Request, ...] = ()


@dataclass
class Reached:
    """What is reached of one module."""

    path: Path
    statements: tuple[Statement, ...]
    chosen: set[int] = field(default_factory=set)

    def add(self, names: Names) -> Iterator[Request]:
        """Take names and all that they use; gives what that asks of other modules."""
        wanted = set(names or ())
        waiting = [n for n, s in enumerate(self.statements) if names is None or not s.binds or s.binds & wanted]
        while waiting:
            number = waiting.pop()
            if number in self.chosen:
                continue
            self.chosen.add(number)
            statement = self.statements[number]
            yield from statement.asks
            waiting += [n for n, other in enumerate(self.statements) if other.binds & statement.uses]

    def nodes(self) -> list[ast.stmt]:
        """The statements that are reached, in order."""
        return [self.statements[number].node for number in sorted(self.chosen)]


def reach(texts: Iterable[str], whole: Iterable[str], find: Callable[[str], Path | None]) -> dict[str, Reached]:
    """Module -> what is reached of it.

    Args:
        texts: code that imports, such as the cells of a chapter.
        whole: modules that count in full.
        find: the file of a module, or None if it is not followed.
    """
    found: dict[str, Reached] = {}
    waiting: list[Request] = [(name, None) for name in whole]
    waiting += [request for text in texts for statement in statements(text) for request in statement.asks]
    while waiting:
        name, names = waiting.pop()
        if names:  # `from a import b` may mean the module a.b
            inner = [(f"{name}.{part}", None) for part in names if find(f"{name}.{part}") is not None]
            waiting += inner
            names = names - {full.rpartition(".")[2] for full, _ in inner}
        path = find(name)
        if path is None:
            continue
        if name not in found:
            found[name] = Reached(path, statements(path.read_text(encoding="utf-8")))
            waiting.append((name.rpartition(".")[0], frozenset()))  # its package is run, too
        waiting += found[name].add(names)
    return found


@cache  # all chapters reach the same modules
def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a text, each import on its own; none if it cannot be parsed (a cell with a magic)."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ()
    return tuple(part for node in tree.body if not _is_docstring(node) for part in _parts(node))


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _parts(node: ast.stmt) -> Iterator[Statement]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            bound = alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0])
            one = (
                ast.Import([alias])
                if isinstance(node, ast.Import)
                else ast.ImportFrom(node.module, [alias], node.level)
            )
            nameless = bound == "*" or getattr(node, "module", "") == "__future__"
            yield Statement(one, frozenset(() if nameless else {bound}), frozenset(), tuple(_requests(one)))
        return
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        binds = {node.name}
    else:
        binds = {part.id for part in names if isinstance(part.ctx, ast.Store)}
        binds |= {p.name for p in ast.walk(node) if isinstance(p, ast.FunctionDef | ast.ClassDef)}
    imports = [part for part in ast.walk(node) if isinstance(part, ast.Import | ast.ImportFrom)]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        binds |= {(a.asname or a.name).partition(".")[0] for part in imports for a in part.names}
    uses = frozenset(part.id for part in names)
    yield Statement(node, frozenset(binds), uses, tuple(request for part in imports for request in _requests(part)))


def _requests(node: ast.Import | ast.ImportFrom) -> Iterator[Request]:
    if isinstance(node, ast.Import):
        yield from ((alias.name, None) for alias in node.names)
    elif node.module and not node.level:
        names = frozenset(alias.name for alias in node.names)
        yield node.module, None if "*" in names else names
