"""Arguments that an answer never reads, where the reference reads them: told by the text. It is said of wrong answers
alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from proctor.locate.source import parameters
from proctor.source.text import Function

READ_ALL = {"locals", "vars", "eval", "exec"}


def never_read(texts: Iterable[str], name: str, solutions: Sequence[str]) -> list[str]:
    """The parameters of an answer that nothing in it reads and the reference does, in their order.

    Args:
        texts: the answer's cells.
        name: of the function or class.
        solutions: texts of the reference.
    """
    ours, theirs = functions_of(solutions, name), functions_of(texts, name)
    found: dict[str, None] = {}
    for method, function in theirs.items():
        if method not in ours or method == "__init__":  # what a module is made with may be used in another way
            continue
        used, asked = names_in(function), names_in(ours[method])
        if function.args.vararg or function.args.kwarg or used & READ_ALL:
            continue
        both = set(parameters(ours[method])) & asked
        found |= dict.fromkeys(p for p in parameters(function) if p in both and p not in used)
    return list(found)


def functions_of(texts: Iterable[str], name: str) -> dict[str, Function]:
    """A function, or the methods of a class, by name."""
    found: dict[str, Function] = {}
    for text in texts:
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in body:
            if isinstance(node, Function) and node.name == name:
                found[name] = node
            if isinstance(node, ast.ClassDef) and node.name == name:
                found |= {n.name: n for n in node.body if isinstance(n, Function)}
    return found


def names_in(function: Function) -> set[str]:
    """All names that a function's body reads, in functions inside of it too."""
    return {
        node.id
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
