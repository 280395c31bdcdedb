"""What an answer computes and never uses: told by the text. It is said of wrong answers alone, beside the verdict: that
nothing reads a value is no proof that something should."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from proctor.locate.unread import READ_ALL, functions_of
from proctor.source.text import Function

COMPUTES = ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare


def never_used(text: str, name: str) -> list[tuple[int, str]]:
    """The variables of an answer that are computed and that nothing reads, and the line of the first time, in their
    order.

    Args:
        text: of the cell with the answer.
        name: of the function or class.
    """
    return [found for function in functions_of([text], name).values() for found in unused_in(function)]


def unused_in(function: Function) -> Iterator[tuple[int, str]]:
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
    elsewhere = {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    if read & READ_ALL:
        return
    found: dict[str, int] = {}
    for node in nodes:
        target: ast.expr
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            target = node.target
        else:
            continue
        computed = node.value is not None and any(isinstance(part, COMPUTES) for part in ast.walk(node.value))
        if computed and isinstance(target, ast.Name) and target.id not in read | elsewhere:
            found.setdefault(target.id, node.lineno)
    yield from ((line, variable) for variable, line in found.items() if not variable.startswith("_"))
