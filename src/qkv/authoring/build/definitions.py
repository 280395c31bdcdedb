"""From a reference module: what the solved edition shows, and the stub that the student starts from.

Both are cut out of the source by its syntax tree, so comments and layout stay as their author wrote them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from qkv.course import AuthoringError

CHECKS_INPUT = {"expects"}  # refuses bad input before the body runs; no part of the answer

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Definition:
    """One exercise in a reference module: its full source, and the same without its answer."""

    name: str
    solved: str
    stub: str


def definition(module: Path, name: str) -> Definition:
    """Cut the function or class `name` out of a reference module."""
    if not module.is_file():
        raise AuthoringError(f"No reference module {module.as_posix()}: write it, {name} is to be defined there.")
    source = module.read_text(encoding="utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, Function | ast.ClassDef) and node.name == name:
            cut = _Cutter(source.splitlines(), name)
            return Definition(name, cut.solved(node), cut.stub(node))
    raise AuthoringError(f"{module.as_posix()} defines no function or class {name}; the chapter has it as an exercise.")


class _Cutter:
    def __init__(self, lines: list[str], exercise: str) -> None:
        self.lines, self.exercise = lines, exercise

    def text(self, first: int, last: int) -> str:
        """Lines first … last, counted from 1, both included."""
        return "\n".join(self.lines[first - 1 : last])

    def solved(self, node: Function | ast.ClassDef) -> str:
        dropped = {
            line
            for part in ast.walk(node)
            if isinstance(part, Function | ast.ClassDef)
            for decorator in part.decorator_list
            if _checks_input(decorator)
            for line in range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1)
        }
        kept = range(_first_line(node), (node.end_lineno or node.lineno) + 1)
        return "\n".join(self.lines[line - 1] for line in kept if line not in dropped)

    def stub(self, node: Function | ast.ClassDef) -> str:
        if isinstance(node, ast.ClassDef):
            return self.class_stub(node)
        return self.function_stub(node)

    def function_stub(self, node: Function) -> str:
        indent = " " * (node.col_offset + 4)
        return f"{self.head(node)}\n{indent}raise NotImplementedError(\"write it, or skip('{self.exercise}')\")"

    def class_stub(self, node: ast.ClassDef) -> str:
        parts = [self.head(node)]
        for member in node.body[1:] if ast.get_docstring(node) is not None else node.body:
            if not isinstance(member, Function | ast.ClassDef):
                parts.append(self.text(member.lineno, member.end_lineno or member.lineno))
            elif member.name == "__init__":
                parts.append(self.solved(member))
            elif isinstance(member, Function) and not _is_helper(member.name):
                parts.append(self.function_stub(member))
        return "\n\n".join(parts)

    def head(self, node: Function | ast.ClassDef) -> str:
        """Signature and docstring, with the decorators that belong to the answer's interface."""
        kept = [
            self.text(decorator.lineno, decorator.end_lineno or decorator.lineno)
            for decorator in node.decorator_list
            if not _checks_input(decorator)
        ]
        documented = ast.get_docstring(node) is not None
        first = node.body[0]
        on_one_line = first.lineno == node.lineno
        if on_one_line or not documented:
            kept.append(self.signature(node, first))
            if documented:
                indent = " " * (node.col_offset + 4)
                kept.append(indent + (ast.get_source_segment("\n".join(self.lines), first) or ""))
        else:
            kept.append(self.text(node.lineno, first.end_lineno or first.lineno))
        return "\n".join(kept)

    def signature(self, node: Function | ast.ClassDef, first: ast.stmt) -> str:
        """The text before the first statement of the body, without comments that stand on lines of their own."""
        if first.lineno == node.lineno:
            before = self.lines[node.lineno - 1].encode()[: first.col_offset].decode()
            return before.rstrip()
        lines = self.lines[node.lineno - 1 : _first_line(first) - 1]
        return "\n".join(line for line in lines if line.strip() and not line.strip().startswith("#"))


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(int(decorator.lineno) for decorator in decorators)])


def _checks_input(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in CHECKS_INPUT


def _is_helper(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
