"""The text of one definition, and how an edit of it is made: a piece is exchanged, the rest stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from proctor.source.text import Function, Text, body_of

LONGEST = 20_000  # characters of a definition that is edited
MOST_NODES = 3_000


@dataclass(frozen=True)
class Edit:
    """One change of a text.

    Args:
        kind: what was changed, as `proctor.locate.words` speaks of it.
        line: where, in the student's file or cell.
        start, end: the bytes that are exchanged.
        new: what stands there then.
        old: what stood there, in the student's own words; for a long piece its first line.
        cost: how much was changed; the smallest edit is preferred.
    """

    kind: str
    line: int
    start: int
    end: int
    new: str
    old: str
    cost: float

    def overlaps(self, other: Edit) -> bool:
        return self.start < other.end and other.start < self.end


def applied(text: str, *edits: Edit) -> str:
    """The text with these edits made."""
    raw = text.encode()
    for edit in sorted(edits, key=lambda e: -e.start):
        raw = raw[: edit.start] + edit.new.encode() + raw[edit.end :]
    return raw.decode()


@dataclass(frozen=True)
class ExpressionPlace:
    """An expression of the student's, and what surrounds it."""

    node: ast.expr
    parent: ast.AST  # the node around it
    names: tuple[str, ...]  # that have a value there
    attributes: tuple[str, ...]  # of `self`, where there is one
    function: Function  # the function that it is in
    size: int  # nodes
    share: float  # of its function's nodes


class EditableDefinition(Text):
    """A cell that holds the definition of an answer, or of what it uses: parsed, not run.

    Raises:
        SyntaxError: it is no Python, or longer than anybody would write.
    """

    def __init__(self, text: str) -> None:
        if len(text.strip()) > LONGEST:
            raise SyntaxError("too long to be searched")
        super().__init__(text)
        if sum(1 for _ in ast.walk(self.tree)) > MOST_NODES:
            raise SyntaxError("too long to be searched")

    def exchange(self, node: ast.expr | ast.stmt, new: str, kind: str, cost: float) -> Edit:
        start, end = self.span(node)
        return Edit(kind, node.lineno, start, end, new, self.words(start, end).partition("\n")[0], cost)

    def functions(self) -> Iterator[Function]:
        """All functions and methods, those inside of others too."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function):
                yield node

    def places(self) -> list[ExpressionPlace]:
        """All expressions whose value is used, in the order of the text."""
        attributes = tuple(
            dict.fromkeys(
                n.attr
                for n in ast.walk(self.tree)
                if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
            )
        )
        found: dict[ast.expr, ExpressionPlace] = {}
        for function in self.functions():  # outer ones come first: what is inside of an inner one is its own
            total = sum(node_count(s) for s in body_of(function)) or 1
            known = assigned_in(function)
            for node, parent in expressions(function):
                names = [a for a, line in known if line < node.lineno or line == 0]
                found[node] = ExpressionPlace(
                    node,
                    parent,
                    tuple(dict.fromkeys(names)),
                    attributes,
                    function,
                    node_count(node),
                    node_count(node) / total,
                )
        for node, parent in loose_expressions(self.tree):
            found.setdefault(node, ExpressionPlace(node, parent, (), attributes, LAMBDA, node_count(node), 0.5))
        return list(found.values())


LAMBDA = ast.FunctionDef(
    name="<lambda>",
    args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]),
    body=[],
    decorator_list=[],
)


def node_count(node: ast.AST) -> int:
    """The number of nodes in a piece of code, without those that only give a name's context."""
    return sum(not isinstance(n, ast.expr_context | ast.operator) for n in ast.walk(node))


def parameters(function: Function) -> list[str]:
    """The names of a function's arguments in order, without `self`."""
    arguments = function.args
    found = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in found if name != "self"]


def assigned_in(function: Function) -> list[tuple[str, int]]:
    """The names that get a value in a function, and the line from which on they have it (0: an argument)."""
    found = [(name, 0) for name in parameters(function)]
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append((node.id, node.lineno))
    return found


def expressions(function: Function) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The expressions of a function's body and of its defaults, each with its parent."""
    defaults = [d for d in (*function.args.defaults, *function.args.kw_defaults) if d is not None]
    waiting: list[tuple[ast.AST, ast.AST]] = [(node, function) for node in (*body_of(function), *defaults)]
    yield from below(waiting)


def loose_expressions(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Expressions outside of functions: `double = lambda x: 2 * x`."""
    yield from below([(node, tree) for node in tree.body if isinstance(node, ast.Assign)])


def is_slice(node: ast.AST) -> bool:
    """`1:` and `..., 1:` stand in brackets only, and so does `*x` in calls: they are no values."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(part, ast.Slice | ast.Starred) for part in parts)


def below(waiting: list[tuple[ast.AST, ast.AST]]) -> Iterator[tuple[ast.expr, ast.AST]]:
    waiting = waiting[::-1]
    while waiting:
        node, parent = waiting.pop()
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            continue
        used = isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        if used and not is_slice(node):
            yield node, parent  # type: ignore[misc]
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            children = [c for c in children if c is not node.annotation]
        if isinstance(node, Function):
            children = list(node.body)
        waiting += [(child, node) for child in reversed(children)]
