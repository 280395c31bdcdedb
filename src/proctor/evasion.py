"""A second look at forbidden calls, by syntax tree, in the process that student code cannot reach.

The first look is at what is called (`proctor.forbid`), and it is the better one: a mention is not a call. But it is
taken beside student code, which could look for a way around it: another thread, torch's internals, our own objects. An
answer that uses such a way *and* refers to the forbidden thing is taken at its word. Ordinary code does neither.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from proctor.extraction import Definition, parsed, walk
from proctor.forbid import Family

# modules and attributes through which code gets out of sight of the recorder
WAYS_AROUND = {
    "threading", "_thread", "concurrent", "multiprocessing", "asyncio", "ctypes", "gc", "inspect", "importlib",
    "proctor", "_C", "overrides", "_python_dispatch", "_getframe", "settrace", "setprofile", "modules",
    "__subclasses__", "__globals__", "__builtins__", "_pop_mode", "DisableTorchFunction",
    "DisableTorchFunctionSubclass", "_disable_current_modes", "_DisableTorchDispatch",
}  # fmt: skip
BY_TEXT = {"getattr", "eval", "exec", "compile", "__import__", "import_module", "attrgetter", "methodcaller"}

A_WAY = re.compile(r"\b(" + "|".join(map(re.escape, WAYS_AROUND | BY_TEXT)) + r")\b")


def hidden_calls(definitions: Iterable[Definition], families: Iterable[Family]) -> tuple[str, ...]:
    """Titles of the forbidden things that an answer refers to while it uses a way around the recorder."""
    definitions = list(definitions)
    if not any(A_WAY.search(definition.text) for definition in definitions):  # nearly always
        return ()
    nodes = [node for definition in definitions for node in walk(parsed(definition.text)[0])]
    words = {word for node in nodes for word in words_of(node)}
    by_text = bool(words & BY_TEXT)
    if not by_text and not words & WAYS_AROUND:
        return ()
    found = set()
    for node in nodes:
        mentioned = references(node)
        if by_text and isinstance(node, ast.Constant) and isinstance(node.value, str):
            mentioned = [node.value]
        found |= {family.title for family in families if any(belongs(name, family) for name in mentioned)}
    return tuple(sorted(found))


def words_of(node: ast.AST) -> list[str]:
    """The names that a node spells out: identifiers, attributes, parts of imported modules."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.Import):
        return [part for alias in node.names for part in alias.name.split(".")]
    if isinstance(node, ast.ImportFrom):
        return [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    return []


def references(node: ast.AST) -> list[str]:
    """What a node takes from somewhere else: `F.softmax`, `scores.softmax`, `from torch import softmax`."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        return [] if own else [node.attr]
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
        return [alias.name for alias in node.names]
    return []


def belongs(name: str, family: Family) -> bool:
    """Is this one of the family's operators, or the module class of one (`nn.LayerNorm`, `nn.MultiheadAttention`)?"""
    if name in family.operators:
        return True
    plain = name.lower()
    return name[:1].isupper() and any(operator.replace("_", "").startswith(plain) for operator in family.operators)
