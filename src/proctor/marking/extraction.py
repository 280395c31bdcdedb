"""The definitions in a submitted file: imports, functions, classes and assignments.

Plots, training runs and everything else that a notebook does at top level is left out. Nothing is executed here, and
nothing that a file contains makes this raise. This runs in the trusted process, where no limit of the sandbox holds, so
it has its own: each step takes time in proportion to the text, and `Reading` bounds the text, and the time, of a whole
submission.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import symtable
import time
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from proctor.marking.submissions import ARCHIVE, File
from proctor.source.cells import parse_cell
from proctor.source.statements import Statement, statements

# Far above what anybody types. At its most tedious, Python code takes 12 seconds per million characters here.
LONGEST = 400_000  # characters of one cell, or of one Python file
LONGEST_LINE = 50_000
MOST_CODE = 2_000_000  # characters of one submission
MOST_CELLS = 5_000  # of one submission
SECONDS = 20.0  # of processor time for one submission, looked at between two cells
MOST_PIECES = 4_000_000  # numbers, texts and lists of one notebook: each takes far more memory than it has bytes
MOST_PROBLEMS = 20  # that are reported one by one
SHORT = 2_000  # characters of a cell that may be cached
SHOWN = 80  # characters of a line
BINDS = re.compile(r"\b(?:def|class)\s+(\w+)|\b(\w+)\s*:=|\bglobals\(\)\[[\"'](\w+)[\"']\]\s*=[^=]")
NOT_WRITTEN_IN = {"idna", "punycode"}  # made for host names: reading a file in them takes the square of its length


@dataclass(frozen=True)
class Problem:
    """A part of a submission that could not be read: a sentence, and the text concerned.

    Args:
        archive: it is an archive, so that nobody knows what is in it.
    """

    sentence: str
    text: str = ""
    archive: bool = False

    def mentions(self, name: str) -> bool:
        """Could this have been a definition of `name`?"""
        return re.search(rf"\b(def|class)\s+{re.escape(name)}\b|^{re.escape(name)}\s*=", self.text, re.M) is not None


@dataclass(frozen=True)
class Source:
    """One file, read."""

    name: str  # of the file
    definitions: tuple[Statement, ...] = ()  # in their order
    problems: tuple[Problem, ...] = ()  # parts that could not be read
    inside: Mapping[str, str] = field(default_factory=dict)  # name -> where it is bound by code that is not taken


class Reading:
    """The reading budget of one submission, and whether it was exceeded.

    Args:
        seconds: of processor time.
        clock: returns the processor time used so far.
    """

    def __init__(self, seconds: float = SECONDS, clock: Callable[[], float] = time.process_time) -> None:
        self._clock, self._deadline = clock, clock() + seconds
        self._characters, self._cells = MOST_CODE, MOST_CELLS
        self.problems_left = MOST_PROBLEMS
        self.over = False

    def refuses(self, text: str = "") -> str:
        """The reason why this text, and all after it, is not read; empty if it is read."""
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
        return Source(file.name, problems=(Problem(file.problem, archive=file.suffix == ARCHIVE),))
    if reading.over:
        return Source(file.name)
    name = printable_file_name(file.name)
    if why := reading.refuses():
        reading.over = True
        return Source(file.name, problems=(Problem(f"{name} and what comes after it was not read: {why}."),))
    definitions: list[Statement] = []
    problems: list[Problem] = []
    inside: dict[str, str] = {}
    try:
        read_into(definitions, problems, inside, file, reading)
    except Unreadable as error:
        problems.append(Problem(f"{name} could not be read: {error}"))
    except Exception:  # an unforeseen file: reported to its author, and the class goes on
        problems.append(Problem(f"{name} could not be read: it is not what its name says."))
    return Source(file.name, tuple(definitions), tuple(problems), inside)


def read_into(
    definitions: list[Statement], problems: list[Problem], inside: dict[str, str], file: File, reading: Reading
) -> None:
    """Add the definitions of a file, what is wrong with it, and what only code that is not taken would define."""
    cells = notebook_cells(file) if file.suffix == ".ipynb" else iter([(printable_file_name(file.name), text_of(file))])
    place, further = "", []
    for place, text in cells:
        if why := reading.refuses(text):
            reading.over = True
            problems.append(Problem(f"{place} and what comes after it was not read: {why}."))
            break
        try:
            found = read_code(text)
            definitions += [replace(definition, place=place) for definition in found.definitions]
            inside.update({name: f"line {line} of {place}: `{code}`" for name, line, code in found.inside})
            continue
        except Unreadable as error:
            sentence = f"{place} was not read: {error}"
        except SyntaxError as error:
            line = f" in line {error.lineno}" if error.lineno else ""
            sentence = f"{place} has a syntax error{line}: {printable_message(error.msg)}."
        except (ValueError, RecursionError, MemoryError):
            sentence = f"{place} is not code that Python can read."
        if reading.problems_left:
            reading.problems_left -= 1
            problems.append(Problem(sentence, text[:LONGEST]))
        else:
            further.append(text[:LONGEST])
    if further:
        cells_text = "cell" if len(further) == 1 else "cells"
        sentence = f"{printable_file_name(file.name)} has errors in {len(further)} more {cells_text}."
        problems.append(Problem(sentence, "\n".join(further)))
    if not place:
        problems.append(Problem(f"{printable_file_name(file.name)} has no code cell."))


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
    name = printable_file_name(file.name)
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


def printable_file_name(name: str) -> str:
    """A file name, shortened, safe to show."""
    return "".join(c if c.isprintable() and c not in "<>" else "?" for c in name)[-80:]


def printable_message(text: str) -> str:
    """A SyntaxError message, shortened, safe to show."""
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


# ---- code


@dataclass(frozen=True)
class Code:
    """One cell or file of code, read.

    Args:
        definitions: at its top level, without their place.
        inside: (name, line, its text) of what other code there would define if it were run: a loop, `exec`.
    """

    definitions: tuple[Statement, ...]
    inside: tuple[tuple[str, int, str], ...]


def definitions_in(place: str, text: str) -> list[Statement]:
    """All definitions at the top level of one cell or file."""
    return [replace(definition, place=place) for definition in read_code(text).definitions]


def read_code(text: str) -> Code:
    """Read the text of one cell or file."""
    if len(text) > LONGEST:
        raise Unreadable(f"it has {len(text):,} characters, and at most {LONGEST:,} are read.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (cached_code if len(text) <= SHORT else code_of)(text)


def code_of(text: str) -> Code:
    longest = max(map(len, text.split("\n")))
    if longest > LONGEST_LINE:
        raise Unreadable(f"it has a line of {longest:,} characters, and at most {LONGEST_LINE:,} are read.")
    found = statements(parse_cell(text))
    taken = tuple(statement for statement in found if statement.defines)
    for statement in taken:
        with suppress(RecursionError):
            symtable.symtable(
                statement.text, "", "exec"
            )  # what Python refuses, but not when it parses: `global` in vain
    return Code(taken, tuple(bound_inside(statement for statement in found if not statement.defines)))


def bound_inside(others: Iterable[Statement]) -> Iterator[tuple[str, int, str]]:
    """What statements that are not taken would define: the name, the line, and its text."""
    for statement in others:
        for number, line in enumerate(statement.text.split("\n"), statement.line):
            for found in BINDS.finditer(line):
                yield str(found[found.lastindex or 0]), number, line.strip()[:SHOWN]


# most cells of a class are as they were handed out: the same in every submission
cached_code = lru_cache(maxsize=1000)(code_of)
