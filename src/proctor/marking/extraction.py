"""What a file defines: its imports, functions, classes and assignments, found by its syntax tree.

Plots, training runs and everything else that a notebook does at top level is left out. Each definition keeps its line
numbers, and knows which names it binds and which it needs, so that an answer can be taken out with all that it uses
and nothing else. Nothing is executed here, and nothing that a file contains makes this raise. This runs in the trusted
process, where no limit of the sandbox holds, so it has its own: each step takes time in proportion to the text, and
`Reading` bounds the text, and the time, of a whole submission.
"""

from __future__ import annotations

import ast
import codecs
import io
import json
import re
import symtable
import time
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from proctor.marking.submissions import File

# Far above what anybody types. At its most tedious, Python code takes 12 seconds per million characters here.
LONGEST = 400_000  # characters of one cell, or of one Python file
LONGEST_LINE = 50_000
MOST_CODE = 2_000_000  # characters of one submission
MOST_CELLS = 5_000  # of one submission
SECONDS = 20.0  # of processor time for one submission, looked at between two cells
MOST_PIECES = 4_000_000  # numbers, texts and lists of one notebook: each takes far more memory than it has bytes
MOST_PROBLEMS = 20  # that are told one by one
SHORT = 2_000  # characters of a cell that may be remembered
NOT_WRITTEN_IN = {"idna", "punycode"}  # made for host names: reading a file in them takes the square of its length
# a line that cannot be Python where a statement begins; `++` and `*+` never try again what they have read
MAGIC = re.compile(r"[ \t]*+(?:[%!?]|[\w., ]++=[ \t]*+[%!])")
TOKEN = re.compile(r"#.*|\"\"\"|\'\'\'|[\"'()\[\]{}]")  # what can hide a line break, or a question mark
END_OF_STRING = {quote: re.compile(rf"\\.|{quote}") for quote in ('"', "'", '"""', "'''")}
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


class Reading:
    """How much of one submission is read: what is left of it, and whether that was too little.

    Args:
        seconds: of processor time.
        clock: tells the processor time that was used so far.
    """

    def __init__(self, seconds: float = SECONDS, clock: Callable[[], float] = time.process_time) -> None:
        self._clock, self._deadline = clock, clock() + seconds
        self._characters, self._cells = MOST_CODE, MOST_CELLS
        self.problems_left = MOST_PROBLEMS
        self.over = False

    def refuses(self, text: str = "") -> str:
        """Why this text is not read any more, nor anything after it; nothing if it is."""
        self._characters -= len(text)
        self._cells -= bool(text)
        if self._characters < 0:
            return f"a submission may have {MOST_CODE:,} characters of code"
        if self._cells < 0:
            return f"a submission may have {MOST_CELLS:,} cells"
        if self._clock() > self._deadline:
            return "reading the submission took too long"
        return ""


def extract_all(files: Iterable[File]) -> list[Source]:
    """Read one submission."""
    reading = Reading()
    return [extract(file, reading) for file in files]


def extract(file: File, reading: Reading | None = None) -> Source:
    """Read one file of a submission, or as much of it as `reading` leaves."""
    reading = reading or Reading()
    if file.problem:
        return Source(file.name, problems=(Problem(file.problem),))
    if reading.over:
        return Source(file.name)
    name = shown(file.name)
    if why := reading.refuses():
        reading.over = True
        return Source(file.name, problems=(Problem(f"{name} and what comes after it was not read: {why}."),))
    definitions: list[Definition] = []
    problems: list[Problem] = []
    try:
        read_into(definitions, problems, file, reading)
    except Unreadable as error:
        problems.append(Problem(f"{name} could not be read: {error}"))
    except Exception:  # a file that nobody thought of: its author hears of it, and the class goes on
        problems.append(Problem(f"{name} could not be read: it is not what its name says."))
    return Source(file.name, tuple(definitions), tuple(problems))


def read_into(definitions: list[Definition], problems: list[Problem], file: File, reading: Reading) -> None:
    """Add the definitions of a file, and what is wrong with it."""
    cells = notebook_cells(file) if file.suffix == ".ipynb" else iter([(shown(file.name), text_of(file))])
    place, further = "", []
    for place, text in cells:
        if why := reading.refuses(text):
            reading.over = True
            problems.append(Problem(f"{place} and what comes after it was not read: {why}."))
            break
        try:
            definitions += definitions_in(place, text)
            continue
        except Unreadable as error:
            sentence = f"{place} was not read: {error}"
        except SyntaxError as error:
            line = f" in line {error.lineno}" if error.lineno else ""
            sentence = f"{place} has a syntax error{line}: {brief(error.msg)}."
        except (ValueError, RecursionError, MemoryError):
            sentence = f"{place} is not code that Python can read."
        if reading.problems_left:
            reading.problems_left -= 1
            problems.append(Problem(sentence, text[:LONGEST]))
        else:
            further.append(text[:LONGEST])
    if further:
        sentence = f"{shown(file.name)} has errors in {len(further)} more {'cell' if len(further) == 1 else 'cells'}."
        problems.append(Problem(sentence, "\n".join(further)))
    if not place:
        problems.append(Problem(f"{shown(file.name)} has no code cell."))


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
        if codecs.lookup(encoding).name in NOT_WRITTEN_IN:
            raise LookupError
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about their escapes
            text = content.decode(encoding)
    except (LookupError, ValueError):  # an encoding of something else than text, or text that is not in it
        raise Unreadable(f"it is not text ({encoding}).") from None
    if "\0" in text:
        raise Unreadable("it is not text: it contains null bytes.")
    return text


def notebook_cells(file: File) -> Iterator[tuple[str, str]]:
    """The code cells of a notebook of format 3 or 4. All cells are counted, from 1, as JupyterLab counts them."""
    if sum(map(file.content.count, (b",", b"[", b"{"))) > MOST_PIECES:
        raise Unreadable(f"it has more than {MOST_PIECES:,} pieces. Clear its outputs, and hand it in again.")
    try:
        notebook = json.loads(file.content)
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable("it is not a notebook (not valid JSON).") from None
    cells = cells_of(notebook)
    if cells is None:
        raise Unreadable("it is not a notebook (it has no cells).")
    name = shown(file.name)
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source: Any = cell.get("source", cell.get("input", ""))
            if isinstance(source, list):
                source = "".join(line for line in source if isinstance(line, str))
            if isinstance(source, str) and source.strip():
                yield f"cell {number} of {name}", source.removeprefix("\ufeff")


def cells_of(notebook: Any) -> list[Any] | None:
    """The cells of format 4, or of all sheets of format 3; None if there are none of either."""
    if not isinstance(notebook, dict):
        return None
    cells, sheets = notebook.get("cells"), notebook.get("worksheets")
    if isinstance(cells, list):
        return cells
    if cells is not None or not isinstance(sheets, list):
        return None
    of_sheets = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
    return [cell for found in of_sheets if isinstance(found, list) for cell in found]


def shown(name: str) -> str:
    """A file name as messages show it."""
    return "".join(c if c.isprintable() and c not in "<>" else "?" for c in name)[-80:]


def brief(text: str) -> str:
    """What Python says of code, which may quote it, as messages show it."""
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


# ---- code


def definitions_in(place: str, text: str) -> list[Definition]:
    """All definitions at the top level of one cell or file."""
    if len(text) > LONGEST:
        raise Unreadable(f"it has {len(text):,} characters, and at most {LONGEST:,} are read.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    read = remembered if len(text) <= SHORT else definitions_of
    return [replace(definition, place=place) for definition in read(text)]


def definitions_of(text: str) -> tuple[Definition, ...]:
    """The same, wherever the text is."""
    longest = max(map(len, text.split("\n")))
    if longest > LONGEST_LINE:
        raise Unreadable(f"it has a line of {longest:,} characters, and at most {LONGEST_LINE:,} are read.")
    tree, text = parsed(text)
    lines = [line.encode() for line in text.split("\n")]
    return tuple(definition(lines, node) for node in tree.body if defines(node))


# most cells of a class are as they were handed out: the same in every submission
remembered = lru_cache(maxsize=1000)(definitions_of)


def parsed(text: str) -> tuple[ast.Module, str]:
    """The syntax tree of a cell, with IPython's lines left out if Python stumbles over it."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if lines[first][2:].split(" ")[0].strip() not in RUNS_PYTHON:
            return ast.Module([], []), ""
        lines[first] = ""
        text = "\n".join(lines)
    try:
        return tree_of(text), text
    except SyntaxError:
        numbers = list(magic_lines(lines))
        if not numbers:
            raise
    for number in numbers:
        leave_out(lines, number)
    text = "\n".join(lines)
    return tree_of(text), text


def tree_of(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about their escapes and comparisons
        return ast.parse(text)


def magic_lines(lines: Sequence[str]) -> Iterator[int]:
    """The lines that are for IPython: where a statement begins, and what stands there cannot be Python.

    `%`, `!` and `?` may stand inside of brackets, strings and comments, so those are followed from line to line.
    """
    depth, quote, goes_on = 0, "", ""  # brackets that are open, string that is open, last line if it continues
    for number, line in enumerate(lines):
        begins = not depth and not quote and not goes_on
        if goes_on == "magic" or (begins and MAGIC.match(line)):
            if begins:
                yield number
            goes_on = "magic" if line.endswith("\\") else ""
            continue
        goes_on = ""
        place = 0
        while True:
            if quote:
                closed = end_of_string(line, place, quote)
                if closed is None:
                    if len(quote) == 1 and not line.endswith("\\"):
                        return  # a string that Python does not find the end of either
                    break
                place, quote = closed, ""
            found = TOKEN.search(line, place)
            if found is None:
                break
            place, token = found.end(), found[0]
            if token[0] in "\"'":
                quote = token
            elif token[0] != "#":
                depth += 1 if token in "([{" else -1
        if begins and not depth and not quote and line[place:].rstrip().endswith("?"):
            yield number
        goes_on = "code" if not quote and line.endswith("\\") else ""


def end_of_string(line: str, place: int, quote: str) -> int | None:
    """Where a string that is open at `place` has ended; None if it is not in this line."""
    ends = END_OF_STRING[quote]
    while (found := ends.search(line, place)) is not None:
        place = found.end()
        if found[0] == quote:
            return place
    return None


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
        as_a_script = any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))
        return not as_a_script and all(
            defines(inner) or isinstance(inner, ast.Pass) for inner in node.body + node.orelse
        )
    if isinstance(node, ast.Try):  # what handlers do, they do when a definition fails
        return all(defines(inner) for inner in node.body) and all(map(defines, node.orelse + node.finalbody))
    if isinstance(node, ast.With):
        return all(defines(inner) for inner in node.body)
    return False


def definition(lines: list[bytes], node: ast.stmt) -> Definition:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    text = segment(lines, first, node)
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


def segment(lines: list[bytes], first: int, node: ast.stmt) -> str:
    """The text of a statement from its first line on, which it may share with others (`a = 1; b = 2`)."""
    chosen = lines[first - 1 : node.end_lineno]
    chosen[-1] = chosen[-1][: node.end_col_offset]
    if first == node.lineno:
        chosen[0] = chosen[0][node.col_offset :]
    return b"\n".join(chosen).decode()


def names_of(node: ast.stmt, text: str) -> tuple[set[str], set[str]]:
    """The names that a statement binds, and the global names that it refers to."""
    if isinstance(node, Function | ast.ClassDef):
        return names_in_scopes(text)
    if isinstance(node, Import) and not is_future(node):
        return {a.asname or a.name.partition(".")[0] for a in node.names if a.name != "*"}, set()
    parts = list(ast.walk(node))
    if isinstance(node, ast.Assign | ast.AugAssign) and SCOPES.isdisjoint(map(type, parts)):
        names = [part for part in parts if isinstance(part, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        needed = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    elif any(isinstance(part, COMPREHENSIONS) for part in parts):
        bound, needed = names_in_scopes(ast.unparse(Enclosed().visit(deepcopy(node))))
        bound |= named_in_comprehensions(parts)
    else:
        bound, needed = names_in_scopes(text)
    return bound | changed(parts), needed


def named_in_comprehensions(parts: list[ast.AST]) -> set[str]:
    """What `:=` inside of comprehensions binds: names of the scope around them."""
    outermost: list[ast.AST] = []
    inside: set[ast.AST] = set()
    for part in parts:  # parents come before their children
        if isinstance(part, COMPREHENSIONS) and part not in inside:
            found = list(ast.walk(part))
            inside.update(found)
            outermost += found
    return {part.target.id for part in outermost if isinstance(part, ast.NamedExpr)}


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
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            yield from (alias.name for alias in part.names)
        elif isinstance(part, ast.ImportFrom) and part.module and not part.level:
            yield part.module


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
