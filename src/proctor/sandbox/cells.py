"""Running the cells of a submission: in order, in one namespace, as forgiving as a notebook of a student needs it."""

from __future__ import annotations
import __future__

import ast
import linecache
from collections.abc import Callable, Iterable
from typing import Any

from proctor.observe import Raised, describe
from proctor.sandbox.inert import Missing


def _import_one(node: ast.Import | ast.ImportFrom, run: Callable[[list[ast.stmt]], None], names: dict[str, Any]) -> str:
    """Run one import statement; if the module is not there, bind its names to `Missing`. Returns what was missing."""
    try:
        run([node])
        return ""
    except ImportError as error:
        package = (error.name or getattr(node, "module", None) or node.names[0].name).partition(".")[0]
        for alias in node.names:
            if alias.name != "*":
                bound = alias.asname or (
                    alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]
                )
                names.setdefault(bound, Missing(package))
        return f"{ast.unparse(node)}: {error}"


def file_of(label: str) -> str:
    """The file name that a cell is compiled under; `proctor.observe` knows student code by it."""
    return f"<{label}>" if label.startswith("cell") else f"<submission {label}>"


def run_cell(label: str, source: str, names: dict[str, Any], flags: int) -> tuple[list[str], int]:
    """Run one cell. Imports at its top level that fail are noted instead of raised.

    Args:
        flags: compiler flags of `from __future__` imports in earlier cells, which a notebook keeps on.

    Returns:
        notes on failed imports, and the flags for the next cell.
    """
    file = file_of(label)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    if "import" not in source:  # most cells: no tree is needed
        exec(compile(source, file, "exec", flags, dont_inherit=True), names)
        return [], flags
    tree = compile(source, file, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    notes: list[str] = []
    pending: list[ast.stmt] = []

    def run(statements: list[ast.stmt]) -> None:
        if statements:
            module = ast.Module(body=list(statements), type_ignores=[])
            exec(compile(module, file, "exec", flags, dont_inherit=True), names)

    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            run(pending)
            pending = []
            if note := _import_one(node, run, names):
                notes.append(note)
        else:
            pending.append(node)
    run(pending)
    return notes, flags


def run_cells(cells: Iterable[tuple[str, str]], names: dict[str, Any]) -> tuple[dict[str, Raised], list[str]]:
    """Run all cells; returns the errors by label, and notes."""
    errors: dict[str, Raised] = {}
    notes: list[str] = []
    flags = 0
    for label, source in cells:
        try:
            more, flags = run_cell(label, source, names, flags)
            notes += more
        except BaseException as error:  # also sys.exit() in a cell
            errors[label] = describe(error)
    return errors, notes
