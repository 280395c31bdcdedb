"""A definition without its body: how one is made, and whether a definition is one.

Both are cut out of the text by its syntax tree, so comments and layout stay as their author wrote them.
"""

from __future__ import annotations

import ast
from collections.abc import Container

from proctor.source.text import Function, FunctionOrClass, Text, body_of, first_line


def is_stub(node: ast.stmt) -> bool:
    """Is this a definition that raises NotImplementedError, or does nothing? `__init__` may be written out."""
    if isinstance(node, ast.ClassDef):
        methods = [m for m in node.body if isinstance(m, Function) and m.name != "__init__"]
        return bool(methods) and all(map(is_stub, methods))
    if not isinstance(node, Function):
        return False
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(s, ast.Pass) or (isinstance(s, ast.Raise) and _says_not_implemented(s)) for s in body)


def _says_not_implemented(node: ast.Raise) -> bool:
    words = [getattr(part, field, None) for part in ast.walk(node) for field in ("id", "attr", "arg", "value")]
    return any(isinstance(word, str) and "NotImplemented" in word for word in words)


class Cutter:
    """Cuts definitions out of a text.

    Args:
        without: names of decorators that are left out.
        body: the statement that a stub has for a body.
    """

    def __init__(self, text: Text, without: Container[str] = (), body: str = "raise NotImplementedError") -> None:
        self.text, self.without, self.body = text, without, body
        self.lines = text.source.split("\n")
        decorators = [d for part in ast.walk(text.tree) for d in getattr(part, "decorator_list", ())]
        self.dropped = {n for d in decorators if self._is_left_out(d) for n in range(d.lineno, _end(d) + 1)}

    def whole(self, node: FunctionOrClass | None = None) -> str:
        """A definition, or all of the text, with nothing but those decorators left out."""
        lines = range(first_line(node), _end(node) + 1) if node else range(1, len(self.lines) + 1)
        return "\n".join(self.lines[number - 1] for number in lines if number not in self.dropped)

    def stub(self, node: FunctionOrClass) -> str:
        """Signature and docstring. A class has its attributes and its `__init__`, but none of its private methods."""
        if isinstance(node, Function):
            return f"{self._head(node)}\n{_inside(node)}{self.body}"
        if node.body[0].lineno == node.lineno:
            return self.whole(node)  # a class on one line has no methods
        parts = [self._head(node)]
        for member in body_of(node):
            if not isinstance(member, FunctionOrClass):
                parts.append(self._between(member.lineno, _end(member)))
            elif member.name == "__init__":
                parts.append(self.whole(member))
            elif isinstance(member, Function) and not _is_private(member.name):
                parts.append(self.stub(member))
        return "\n\n".join(parts)

    def _head(self, node: FunctionOrClass) -> str:
        decorators = [d for d in node.decorator_list if not self._is_left_out(d)]
        kept = [self._between(decorator.lineno, _end(decorator)) for decorator in decorators]
        first = node.body[0]
        documented = body_of(node) is not node.body
        if documented and first.lineno != node.lineno:
            return "\n".join([*kept, self._between(node.lineno, _end(first))])
        kept.append(self._signature(node, first))
        if documented:
            kept.append(_inside(node) + self.text.of(first))
        return "\n".join(kept)

    def _signature(self, node: FunctionOrClass, first: ast.stmt) -> str:
        """The text before the first statement of the body, without comments that stand on lines of their own."""
        if first.lineno == node.lineno:
            return self.lines[node.lineno - 1].encode()[: first.col_offset].decode().rstrip()
        lines = self.lines[node.lineno - 1 : first_line(first) - 1]
        return "\n".join(line for line in lines if line.strip() and not line.strip().startswith("#"))

    def _between(self, first: int, last: int) -> str:
        return "\n".join(self.lines[first - 1 : last])

    def _is_left_out(self, decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in self.without


def _end(node: ast.stmt | ast.expr) -> int:
    return node.end_lineno or node.lineno


def _inside(node: FunctionOrClass) -> str:
    return " " * (node.col_offset + 4)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
