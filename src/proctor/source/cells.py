"""A cell of IPython as Python: magics, shell lines, questions, prompts and a common indent are left out, as IPython
leaves them out, and all lines keep their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from proctor.source.text import Text

# a line that cannot be Python where a statement begins; `++` and `*+` never try again what they have read
MAGIC = re.compile(r"[ \t]*+(?:[%!?]|[\w., \[\]\"']++=[ \t]*+[%!])")
PROMPT = re.compile(r"[ \t]*+(?:>>> ?|\.\.\.:? ?|In \[\d+\]: ?)")  # pasted from a terminal
TOKEN = re.compile(r"#.*|\"\"\"|\'\'\'|[\"'()\[\]{}]")  # what can hide a line break, or a question mark
END_OF_STRING = {quote: re.compile(rf"\\.|{quote}") for quote in ('"', "'", '"""', "'''")}
RUNS_PYTHON = {"time", "capture", "prun", "timeit"}  # cell magics whose cell is ordinary code


def parse_cell(cell: str) -> Text:
    """A cell, with IPython's lines left out if Python stumbles over it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: Python cannot read it without them either.
    """
    lines = cell.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if lines[first][2:].split(" ")[0].strip() not in RUNS_PYTHON:
            return Text("")
        lines[first] = ""
    try:
        return Text("\n".join(lines))
    except SyntaxError:
        pasted = without_margin(lines, first)
        numbers = list(magic_lines(pasted))
        if not numbers and pasted == lines:
            raise
    for number in numbers:
        leave_out(pasted, number)
    return Text("\n".join(pasted))


def without_margin(lines: Sequence[str], first: int) -> list[str]:
    """The lines without the prompts, and without the indent, that the first of them has."""
    if PROMPT.match(lines[first]):
        lines = [line[found.end() :] if (found := PROMPT.match(line)) else line for line in lines]
    indent = len(lines[first]) - len(lines[first].lstrip())
    return [line[min(indent, len(line) - len(line.lstrip())) :] for line in lines]


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
    """The end of a string that is open at `place`; None if it is not in this line."""
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
