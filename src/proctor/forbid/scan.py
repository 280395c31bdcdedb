"""A second look at forbidden calls, by syntax tree, in the process that student code cannot reach.

The first look is at what is called (`proctor.forbid.replace`), and it is the better one: a mention is not a call. But
it is taken beside student code, which could look for a way around it: frames, the garbage collector, torch's internals,
our own objects. An answer that uses such a way *and* refers to the forbidden thing is taken at its word. Ordinary code
does neither: what merely looks a name up (`getattr`, `inspect.signature`, `modules()`) leads around nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Protocol

from proctor.forbid.family import Family

# names through which code gets at the harness, or at kernels past the dispatcher
WAYS_AROUND = {
    "ctypes", "proctor", "_thread", "threading", "multiprocessing", "_getframe", "_current_frames", "currentframe",
    "getouterframes", "getinnerframes", "f_back", "f_globals", "f_locals", "f_builtins", "tb_frame", "gi_frame",
    "cr_frame", "settrace", "setprofile", "get_referrers", "get_referents", "get_objects", "__subclasses__",
    "__globals__", "__builtins__", "__closure__", "_C", "get_kernel", "_dispatch_library", "_pop_mode",
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "_disable_current_modes", "_DisableTorchDispatch",
}  # fmt: skip
BY_TEXT = {"getattr", "eval", "exec", "compile", "__import__", "import_module", "attrgetter", "methodcaller", "vars"}

A_WAY = re.compile(r"\b(" + "|".join(map(re.escape, WAYS_AROUND)) + r")\b|\bsys\s*\.\s*modules\b|\bmodules\b")


class CodeText(Protocol):
    """A piece of code with its text, such as a statement of a student's."""

    @property
    def text(self) -> str: ...


def hidden_calls(definitions: Iterable[CodeText], families: Iterable[Family]) -> tuple[str, ...]:
    """Titles of the forbidden things that an answer refers to while it uses a way around the recorder."""
    definitions, families = list(definitions), list(families)
    if not families or not any(A_WAY.search(definition.text) for definition in definitions):  # nearly always
        return ()
    nodes = [node for definition in definitions for node in ast.walk(ast.parse(definition.text))]
    words = {word for node in nodes for word in words_of(node)}
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    looked_up = texts if words & BY_TEXT else set()
    if not (words | looked_up) & WAYS_AROUND and not any(map(is_table_of_modules, nodes)):
        return ()
    mentioned = {name for node in nodes for name in references(node)} | texts
    return tuple(sorted({family.title for family in families if any(belongs(name, family) for name in mentioned)}))


def is_table_of_modules(node: ast.AST) -> bool:
    """`sys.modules`, and not the `modules()` of a layer."""
    if isinstance(node, ast.Attribute):
        return node.attr == "modules" and isinstance(node.value, ast.Name) and node.value.id == "sys"
    return isinstance(node, ast.ImportFrom) and node.module == "sys" and any(a.name == "modules" for a in node.names)


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
    """The names that a node takes from elsewhere: `F.relu`, `x.relu`, `from torch import relu`."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        return [] if own else [node.attr]
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
        return [alias.name for alias in node.names]
    return []


def belongs(name: str, family: Family) -> bool:
    """Is this one of the family's operators, or the module class of one (`nn.ReLU`, `nn.BatchNorm1d`)?"""
    name = name.rpartition("::")[2].partition(".")[0]  # "aten::_add_relu", "add.Tensor"
    if name in family.operators:
        return True
    known = {word.partition(".")[0].lower().replace("_", "") for word in family.operators | family.words}
    return name[:1].isupper() and name.lower() in known
