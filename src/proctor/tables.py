"""CSV files that people keep in spreadsheets: read with the line of each mistake, written so that no cell is run.

What separates the cells depends on the language of the spreadsheet. A file that we write may hold text of strangers,
such as the name of a folder; a spreadsheet would take some of it for a formula.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

LARGEST = 16 * 2**20  # bytes
RUNS = tuple("=+-@\t\r\n＝＋－＠")  # a cell that begins so is a formula to some spreadsheet


class BadTable(ValueError):
    """A file that cannot be used; the message says what is wrong, and where."""


@dataclass(frozen=True)
class Line:
    """One line of a table that is not empty.

    Args:
        number: of the line of the file where it begins; a cell may have several.
        cells: column -> cell, without blanks around it.
        beyond: cells under no name.
    """

    number: int
    cells: dict[str, str]
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A CSV file with a header: the names of its columns in small letters, its lines, what separates its cells."""

    header: tuple[str, ...]
    lines: tuple[Line, ...]
    separator: str


def read_text(path: Path) -> str:
    """A text in UTF-8 of a bearable size.

    Raises:
        BadTable: it is none, or it cannot be read. The sentence begins where the file's name would end.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise BadTable(f"cannot be read ({error.strerror}).") from None
    if len(content) > LARGEST:
        raise BadTable(f"has more than {LARGEST // 2**20} MB: it is probably another file.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadTable("is not text in UTF-8: save it as CSV UTF-8.") from None


def parse_table(text: str, needed: Sequence[str], used: Sequence[str]) -> Table:
    """A table from its text.

    Args:
        text: with a header in the first line.
        needed: columns that have to be there.
        used: columns that may be there once.

    Raises:
        BadTable: it has not these columns, or its quotes do not close.
    """
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
    except csv.Error as error:
        raise BadTable(f"line 1 is no line of a CSV file ({error})") from None
    if missing := [name for name in needed if name not in header]:
        came = f"its first line is {first.strip()[:100]!r}" if first.strip() else "it is empty"
        raise BadTable(
            f"it has no column {' and no column '.join(missing)}; {came}, and {','.join(needed)} is expected"
        )
    if twice := [name for name in used if header.count(name) > 1]:
        raise BadTable(f"it has two columns {twice[0]}")
    return Table(tuple(header), tuple(lines_of(rows, header)), separator)


def lines_of(rows: CsvReader, header: Sequence[str]) -> Iterator[Line]:
    begins = rows.line_num + 1
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                pairs = list(zip_longest(header, cells[: len(header)], fillvalue=""))
                nameless = [cell for name, cell in pairs if not name] + cells[len(header) :]
                by_column = {name: cell for name, cell in pairs if name}
                yield Line(begins, by_column, tuple(filter(None, nameless)))
            begins = rows.line_num + 1
    except csv.Error as error:
        raise BadTable(f"line {begins} is no line of a CSV file ({error})") from None


def key(folder: str) -> str:
    """A key that is equal for two spellings of one name: some systems write ü as u with two dots."""
    return unicodedata.normalize("NFC", folder)


def spreadsheet_text(text: str) -> str:
    """Text of others, such as a name, for a table cell: an apostrophe before anything a spreadsheet would run.

    An apostrophe before such an apostrophe, too, so that two names never become one.
    """
    return f"'{text}" if text.lstrip("'").startswith(RUNS) else text


def text_of_cell(cell: str) -> str:
    """What `spreadsheet_text` made this cell of."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(RUNS) else cell


def ended(sentence: str) -> str:
    """A sentence with its full stop, unless it ends with another mark."""
    return sentence if sentence.endswith("?") else f"{sentence}."


def write_table(out: Path, rows: Iterable[Iterable[object]]) -> None:
    """A CSV file in UTF-8."""
    with out.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        csv.writer(file).writerows(rows)
