"""After an answer has passed: one sentence on what to look at in it, and our version, folded."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qkv import exercises, model

LOOPS = ast.For | ast.While | ast.comprehension
LONGER, SHORTER = 1.7, 0.6  # than ours: from there on it is worth a word
FEW = 3  # names in one sentence


@dataclass(frozen=True)
class Version:
    """What is compared of a definition: its parts, without docstrings and annotations."""

    lines: int
    loops: tuple[int, ...]  # in which lines
    calls: tuple[str, ...]  # what is called, by the last word, in order

    @classmethod
    def of(cls, text: str) -> Version:
        tree = ast.parse(textwrap.dedent(text))
        nodes = [node for statement in statements(tree) for node in ast.walk(statement)]
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        names = [f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in calls]
        loops = [n.iter.lineno if isinstance(n, ast.comprehension) else n.lineno for n in nodes if isinstance(n, LOOPS)]
        lines = {line for s in statements(tree) for line in range(s.lineno, (s.end_lineno or s.lineno) + 1)}
        return cls(len(lines), tuple(sorted(loops)), tuple(dict.fromkeys(filter(None, names))))


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """The statements of all functions, but for those that are given: docstrings and `__init__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            yield from (s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)))


def beside_ours(name: str, answer: Callable[..., Any]) -> tuple[str, str]:
    """A sentence on how a passed answer differs from ours, and our text; both empty where that cannot be said."""
    try:
        yours, ours = inspect.getsource(answer), our_text(name)
        return difference(Version.of(yours), Version.of(ours)), ours
    except (OSError, TypeError, SyntaxError, ValueError):
        return "", ""


def difference(yours: Version, ours: Version) -> str:
    """What to look at in an answer that is right: where it goes another way than ours."""
    if not yours.lines or not ours.lines:
        return ""
    if yours.loops and not ours.loops:
        return (
            f"In line {yours.loops[0]} yours loops in Python; ours has no loop, and leaves it to torch's operations to "
            "do all at once."
        )
    lines = f"{yours.lines} lines" if yours.lines > 1 else "one line"
    if yours.lines > LONGER * ours.lines and yours.lines - ours.lines > 2:
        return f"Yours takes {lines}, ours {ours.lines}: look for what ours does without."
    if yours.lines < SHORTER * ours.lines and ours.lines - yours.lines > 1:
        return f"Yours takes {lines}, ours {ours.lines}: yours is the shorter one."
    only_ours = [call for call in ours.calls if call not in yours.calls]
    only_yours = [call for call in yours.calls if call not in ours.calls]
    if only_ours and only_yours:
        return (
            f"Where yours calls {listed(only_yours)}, ours calls {listed(only_ours)}: the same numbers by another way."
        )
    if only_ours:
        return f"Ours also calls {listed(only_ours)}, which yours does without."
    if only_yours:
        return f"Yours also calls {listed(only_yours)}, which ours does without."
    return ""


def listed(names: list[str]) -> str:
    """`a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names[:FEW]]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def our_text(name: str) -> str:
    """The reference as the book shows it, without its docstrings: the stub has them."""
    from qkv.authoring.build.definitions import definition

    text = definition(Path(model.__path__[0], f"{exercises.chapter_of(name)}.py"), name).solved
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            first = node.body[0]
            for number in range(first.lineno, (first.end_lineno or first.lineno) + 1):
                lines[number - 1] = "\0"
    return "\n".join(line for line in lines if line != "\0")
