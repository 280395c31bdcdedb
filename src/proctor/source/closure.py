"""Names with all that they use, cut out of the sources that define them, and nothing else."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proctor.source.statements import Statement

BY_NAME = {"eval", "exec", "globals", "locals", "vars"}  # code that uses these may reach anything


class Module:
    """The statements of one source, found by the names that they bind."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self.statements = tuple(statements)
        self.binding: dict[str, list[Statement]] = {}
        for statement in self.statements:
            for name in statement.binds:
                self.binding.setdefault(name, []).append(statement)


@dataclass(frozen=True)
class Closure:
    """Some names with all that they use.

    Args:
        statements: in the order in which they run.
        names: every global name that occurs in them.
    """

    statements: tuple[Statement, ...]
    names: frozenset[str]


def closure(names: Iterable[str], module: Module, *others: Module) -> Closure:
    """Every statement that binds one of these names, or a name that such a statement needs, and so on.

    A name means what the first module that binds it says; the others run before it, the last one first. Imports from
    `__future__` are always kept, and `import *` where a name is bound nowhere.
    """
    modules = (module, *others)
    wanted, seen, unknown = list(names), set[str](), False
    chosen: set[Statement] = {statement for statement in module.statements if statement.is_future}
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        found: Sequence[Statement] = next((m.binding[name] for m in modules if name in m.binding), ())
        unknown = unknown or not (found or hasattr(builtins, name))
        for statement in module.statements if name in BY_NAME else found:
            if statement not in chosen:
                chosen.add(statement)
                wanted += statement.needs
    if unknown:
        chosen |= {statement for statement in module.statements if statement.is_star}
    kept = tuple(statement for m in reversed(modules) for statement in m.statements if statement in chosen)
    return Closure(kept, frozenset(seen))
