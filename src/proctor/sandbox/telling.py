"""What in a submission's text a person should look at: what no exercise needs, and taking a harness apart does.

Read from the syntax tree in the trusted process; nothing is run. Information for an instructor, never a verdict: honest
code may import `gc`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

# module or attribute -> what it is good for
TELLING = {
    "ctypes": "reads and writes memory directly",
    "cffi": "reads and writes memory directly",
    "gc": "lists the objects in memory",
    "proctor": "touches the test harness",
    "_getframe": "looks at who called it",
    "currentframe": "looks at who called it",
    "f_back": "looks at who called it",
    "f_locals": "looks at who called it",
    "__subclasses__": "lists the classes in memory",
    "_dispatch_library": "replaces torch's own kernels",
    "_python_dispatch": "changes how torch finds its functions",
    "_disable_current_modes": "changes how torch finds its functions",
    "__torch_function__": "changes what torch's functions do",
    "__torch_dispatch__": "changes what torch's functions do",
    "_exit": "ends its own process",
    "settrace": "watches the test harness run",
    "setprofile": "watches the test harness run",
}
TEXT_AS_CODE = {"eval", "exec", "compile", "__import__"}


def remarks(sources: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Sentences such as "cell 3, line 5: `gc` lists the objects in memory", each once, in order.

    Args:
        sources: (label, source text) of each cell. What cannot be parsed has no remarks.
    """
    found: dict[str, None] = {}
    for label, source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for line, name in sorted(_names(tree)):
            found[f"{label}, line {line}: `{name}` {TELLING.get(name, 'runs text as code')}"] = None
    return tuple(found)


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for name in _named(node):
            if name in TELLING or (name in TEXT_AS_CODE and isinstance(node, ast.Call)):
                yield getattr(node, "lineno", 0), name


def _named(node: ast.AST) -> Iterable[str]:
    """The names that a piece of code mentions itself, not through its parts."""
    match node:
        case ast.Import(names=names):
            return [part for alias in names for part in alias.name.split(".")]
        case ast.ImportFrom(module=module, names=names):
            return [*(module or "").split("."), *(alias.name for alias in names)]
        case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)) | ast.FunctionDef(name=name):
            return [name]
        case ast.Constant(value=str(text)):  # getattr(sys, "_getframe")
            return [text]
    return []
