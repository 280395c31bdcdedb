"""Code that cannot do harm however it is edited a little: by its text, it reaches nothing but tensors and numbers.

Where there is no sandbox, only edited versions of such code are run. In doubt, code is not harmless.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

MODULES = {
    "torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special", "math", "cmath", "typing",
    "collections.abc", "itertools", "functools", "dataclasses", "fractions", "numbers", "__future__",
}  # fmt: skip
# built-in functions that open files, run text, or reach whatever a name says
BUILTINS = {
    "open", "exec", "eval", "compile", "getattr", "setattr", "delattr", "globals", "locals", "vars",
    "input", "breakpoint", "exit", "quit", "help", "license", "credits", "copyright", "memoryview", "object", "type",
}  # fmt: skip
# parts of torch that read, write, start something, or hold modules that do
ATTRIBUTES = {
    "save", "load", "hub", "from_file", "fromfile", "tofile", "ops", "classes", "utils", "jit", "multiprocessing",
    "distributed", "package", "onnx", "export", "serialization", "storage", "load_library", "library", "profiler",
    "testing", "backends", "cuda", "compile", "compiler", "os", "sys", "io", "pathlib", "shutil", "subprocess",
    "builtins", "importlib", "inspect", "warnings", "textwrap", "threading", "ctypes", "pickle", "set_default_device",
}  # fmt: skip
METHODS = {"__init__", "__call__", "__len__", "__getitem__", "__setitem__", "__repr__", "__iter__", "__post_init__"}


def is_harmless(texts: Iterable[str], packages: Iterable[str] = ()) -> bool:
    """Does this code, all together, import and name nothing but what computes?

    Args:
        packages: that may be imported as well: the runner has made them harmless.
    """
    try:
        nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    roots = frozenset(packages)
    return all(_is_harmless(node, roots) for node in nodes)


def _is_harmless(node: ast.AST, packages: frozenset[str]) -> bool:
    if isinstance(node, ast.Import):
        return all(_is_known(alias.name, packages) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = (alias.name for alias in node.names)
        return _is_known(node.module or "", packages) and not any(n in ATTRIBUTES or n.startswith("_") for n in names)
    if isinstance(node, ast.Name):
        return node.id not in BUILTINS and not node.id.startswith("__")
    if isinstance(node, ast.Attribute):
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        hidden = node.attr.startswith("__") or (node.attr.startswith("_") and not own)
        return node.attr in METHODS or not (hidden or node.attr in ATTRIBUTES)
    return not isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith)


def _is_known(module: str, packages: frozenset[str]) -> bool:
    return module in MODULES or module.partition(".")[0] in packages
