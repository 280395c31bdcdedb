"""What a file defines: its imports, functions, classes and assignments, found by its syntax tree.

Plots, training runs and everything else that a notebook does at top level is left out. Each definition keeps its line
numbers, and knows which names it binds and which it needs, so that an answer can be taken out with all that it uses
and nothing else. Nothing is executed here, and nothing that a file contains makes this raise.
"""

from __future__ import annotations

import ast
import codecs
import io
import json
import re
import symtable
import tokenize
import warnings
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from proctor.submissions import File

LONGEST = 400_000  # characters of one cell: far above what anybody types
MAGICS = 60  # in one cell
SHORT = 2_000  # characters of a cell that may be remembered
MAGIC = re.compile(r"\s*([%!?]|[\w., ]+=\s*[%!])|.*\?\s*$")
RUNS_PYTHON = {"time", "capture", "prun", "timeit"}  # cell magics whose cell is ordinary code
Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom
# expressions with names of their own, or that are not allowed everywhere
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = {*COMPREHENSIONS, ast.Lambda, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await}


@dataclass(frozen=True, eq=False)
class Definition:
    """One statement at the top level of a file that binds names."""

    place: str  # "cell 3 of work.ipynb", or "work.py"
    line: int
    text: str
    binds: frozenset[str]
    needs: frozenset[str]  # global names that it refers to, at once or when it is called
    imports: frozenset[str]  # the modules that it names in imports, also inside of functions
    is_import: bool
    is_star: bool
    is_future: bool  # it changes how the rest of the file is read
    is_stub: bool  # as it was handed out


@dataclass(frozen=True)
class Problem:
    """Something that could not be read: a sentence, and the text that it concerns."""

    sentence: str
    text: str = ""

    def mentions(self, name: str) -> bool:
        """Could this have been a definition of `name`?"""
        return re.search(rf"\b(def|class)\s+{re.escape(name)}\b|^{re.escape(name)}\s*=", self.text, re.M) is not None


@dataclass(frozen=True)
class Source:
    """One file, read."""

    name: str
    definitions: tuple[Definition, ...] = ()
    problems: tuple[Problem, ...] = ()


def extract(file: File) -> Source:
    """Read one file of a submission."""
    if file.problem:
        return Source(file.name, problems=(Problem(file.problem),))
    try:
        cells = list(notebook_cells(file) if file.suffix == ".ipynb" else [(shown(file.name), text_of(file))])
    except Unreadable as error:
        return Source(file.name, problems=(Problem(f"{shown(file.name)} could not be read: {error}"),))
    definitions: list[Definition] = []
    problems: list[Problem] = []
    for place, text in cells:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        try:
            definitions += definitions_in(place, text)
        except SyntaxError as error:
            line = f" in line {error.lineno}" if error.lineno else ""
            problems.append(Problem(f"{place} has a syntax error{line}: {error.msg}.", text))
        except (ValueError, RecursionError, MemoryError):
            problems.append(Problem(f"{place} is not code that Python can read.", text[:LONGEST]))
    if not cells:
        problems.append(Problem(f"{shown(file.name)} has no code cell."))
    return Source(file.name, tuple(definitions), tuple(problems))


# ---- files


class Unreadable(ValueError):
    """A file that is not what its name says; the message says what it is."""


def text_of(file: File) -> str:
    """The text of a Python file, in whatever encoding it declares."""
    content = file.content
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        except SyntaxError:
            raise Unreadable("it is not text.") from None
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise Unreadable(f"it is not text ({encoding}).") from None
    if "\0" in text:
        raise Unreadable("it is not text: it contains null bytes.")
    return text


def notebook_cells(file: File) -> Iterator[tuple[str, str]]:
    """The code cells of a notebook of format 3 or 4, counted from 1."""
    try:
        notebook = json.loads(file.content)
    except (ValueError, RecursionError):
        raise Unreadable("it is not a notebook (not valid JSON).") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if isinstance(notebook, dict) and cells is None:  # format 3
        sheets = notebook.get("worksheets")
        cells = (
            [c for s in sheets if isinstance(s, dict) for c in s.get("cells", [])] if isinstance(sheets, list) else None
        )
    if not isinstance(cells, list):
        raise Unreadable("it is not a notebook (it has no cells).")
    number, name = 0, shown(file.name)
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            number += 1
            source: Any = cell.get("source", cell.get("input", ""))
            if isinstance(source, list):
                source = "".join(line for line in source if isinstance(line, str))
            if isinstance(source, str) and source.strip():
                yield f"cell {number} of {name}", source.removeprefix("\ufeff")


def shown(name: str) -> str:
    """A file name as messages show it."""
    return "".join(c if c.isprintable() and c not in "<>" else "?" for c in name)[-80:]


# ---- code


def definitions_in(place: str, text: str) -> list[Definition]:
    """All definitions at the top level of one cell or file."""
    read = remembered if len(text) <= SHORT else definitions_of
    return [replace(definition, place=place) for definition in read(text)]


def definitions_of(text: str) -> tuple[Definition, ...]:
    """The same, wherever the text is."""
    tree, text = parsed(text)
    lines = text.split("\n")
    return tuple(definition(lines, node) for node in tree.body if defines(node))


# most cells of a class are as they were handed out: the same in every submission
remembered = lru_cache(maxsize=1000)(definitions_of)


def parsed(text: str) -> tuple[ast.Module, str]:
    """The syntax tree of a cell, with IPython's lines left out where they are what Python stumbles over."""
    if len(text) > LONGEST:
        raise SyntaxError(f"it has {len(text):,} characters, of which at most {LONGEST:,} are read")
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if lines[first][2:].split(" ")[0].strip() not in RUNS_PYTHON:
            return ast.Module([], []), ""
        lines[first] = ""
    for _ in range(MAGICS):
        text = "\n".join(lines)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about their escapes and comparisons
                return ast.parse(text), text
        except SyntaxError as error:
            number = (error.lineno or 0) - 1
            while 0 < number < len(lines) and lines[number - 1].endswith("\\"):
                number -= 1
            if not 0 <= number < len(lines) or not MAGIC.match(lines[number]):
                raise
            leave_out(lines, number)
    raise SyntaxError("it has more lines for IPython than are read")


def leave_out(lines: list[str], number: int) -> None:
    """Put `pass` in the place of a line and of the lines that continue it."""
    line = lines[number]
    lines[number] = line[: len(line) - len(line.lstrip())] + "pass"
    while line.endswith("\\") and number + 1 < len(lines):
        number += 1
        line, lines[number] = lines[number], ""


def defines(node: ast.stmt) -> bool:
    """Is this a definition, or a block of nothing but definitions?"""
    if isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Assign | ast.AugAssign):
        return True
    if isinstance(node, ast.AnnAssign):
        return node.value is not None
    if isinstance(node, ast.If):
        as_a_script = any(isinstance(part, ast.Name) and part.id == "__name__" for part in walk(node.test))
        return not as_a_script and all(
            defines(inner) or isinstance(inner, ast.Pass) for inner in node.body + node.orelse
        )
    if isinstance(node, ast.Try):  # what handlers do, they do when a definition fails
        return all(defines(inner) for inner in node.body) and all(map(defines, node.orelse + node.finalbody))
    if isinstance(node, ast.With):
        return all(defines(inner) for inner in node.body)
    return False


def definition(lines: list[str], node: ast.stmt) -> Definition:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    last = node.end_lineno or node.lineno
    text = "\n".join(lines[first - 1 : last])
    if node.col_offset or len(text.encode()) != node.end_col_offset or first != last:
        text = segment(lines, first, last, node)
    binds, needs = names_of(node, text)
    return Definition(
        "",
        first,
        text,
        frozenset(binds),
        frozenset(needs),
        imports=frozenset(imported(node) if "import" in text else ()),
        is_import=isinstance(node, Import),
        is_star=isinstance(node, ast.ImportFrom) and node.names[0].name == "*",
        is_future=is_future(node),
        is_stub=is_stub(node),
    )


def segment(lines: list[str], first: int, last: int, node: ast.stmt) -> str:
    """The text of a statement that may share its lines with others (`a = 1; b = 2`)."""
    chosen = lines[first - 1 : last]
    chosen[-1] = chosen[-1].encode()[: node.end_col_offset].decode()
    if first == node.lineno:
        chosen[0] = chosen[0].encode()[node.col_offset :].decode()
    return "\n".join(chosen)


def names_of(node: ast.stmt, text: str) -> tuple[set[str], set[str]]:
    """The names that a statement binds, and the global names that it refers to."""
    if isinstance(node, Function | ast.ClassDef):
        return names_in_scopes(text)
    if isinstance(node, Import) and not is_future(node):
        return {a.asname or a.name.partition(".")[0] for a in node.names if a.name != "*"}, set()
    parts = list(walk(node))
    if isinstance(node, ast.Assign | ast.AugAssign) and SCOPES.isdisjoint(map(type, parts)):
        names = [part for part in parts if isinstance(part, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        needed = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    elif inner := [part for part in parts if isinstance(part, COMPREHENSIONS)]:
        bound, needed = names_in_scopes(ast.unparse(Enclosed().visit(deepcopy(node))))
        bound |= {part.target.id for one in inner for part in walk(one) if isinstance(part, ast.NamedExpr)}
    else:
        bound, needed = names_in_scopes(text)
    return bound | changed(parts), needed


class Enclosed(ast.NodeTransformer):
    """Comprehensions as functions. From Python 3.12 on their variables count among those of the scope around them."""

    def visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        if not isinstance(node, COMPREHENSIONS):
            return node
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Call(ast.Lambda(nothing, node), args=[], keywords=[])


def names_in_scopes(text: str) -> tuple[set[str], set[str]]:
    """The same by Python's own rules of scope, which take longer."""
    table = symtable.symtable(text, "<text>", "exec")
    symbols = table.get_symbols()
    bound = {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
    needed = {s.get_name() for s in symbols if s.is_referenced()}
    for inner in table.get_children():
        needed |= globals_of(inner)
    return bound, needed


def globals_of(table: symtable.SymbolTable) -> set[str]:
    """The global names that a function or class, and all inside it, refers to."""
    if isinstance(table, symtable.Function):
        found = set(table.get_globals())
    else:
        found = {s.get_name() for s in table.get_symbols() if s.is_global()}
    for inner in table.get_children():
        found |= globals_of(inner)
    return found


def changed(parts: list[ast.AST]) -> set[str]:
    """Names whose value is changed in place: `Layer.forward = …`, `table["a"] = …`."""
    found = set()
    for part in parts:
        if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            root: ast.expr = part
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name):
                found.add(root.id)
    return found


def imported(node: ast.stmt) -> Iterator[str]:
    """The modules that are named in imports."""
    for part in walk(node):
        if isinstance(part, ast.Import):
            yield from (alias.name for alias in part.names)
        elif isinstance(part, ast.ImportFrom) and part.module and not part.level:
            yield part.module


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a tree, in no particular order; several times as fast as `ast.walk`."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                left.append(value)
            elif isinstance(value, list):
                left += [item for item in value if isinstance(item, ast.AST)]


def is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def is_stub(node: ast.stmt) -> bool:
    """A definition as it was handed out: it raises NotImplementedError, or does nothing."""
    if isinstance(node, ast.ClassDef):
        methods = [m for m in node.body if isinstance(m, Function) and m.name != "__init__"]
        return bool(methods) and all(map(is_stub, methods))
    if not isinstance(node, Function):
        return False
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(s, ast.Pass) or (isinstance(s, ast.Raise) and "NotImplemented" in ast.dump(s)) for s in body)
