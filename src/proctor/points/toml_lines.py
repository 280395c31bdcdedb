"""Where something stands in a TOML file: Python's own reader gives the values, and not their lines."""

from __future__ import annotations

import re

HEADER = re.compile(r"\s*\[(\[)?\s*(?P<path>[^\[\]#]+?)\s*\]")
ASSIGNED = re.compile(r"\s*(?P<path>(?:\"[^\"]*\"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:\"[^\"]*\"|'[^']*'|[\w-]+))*)\s*=")
PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


def line_of(text: str, *path: str | int) -> int:
    """The line of a key, such as ("late", "grace"), or of what is nearest around it; 1 if nothing of it is there.

    A number in the path counts the tables of one name, from 0.
    """
    places = key_lines(text)
    wanted = tuple(path)
    while wanted:
        if wanted in places:
            return places[wanted]
        wanted = wanted[:-1]
    return 1


def key_lines(text: str) -> dict[tuple[str | int, ...], int]:
    """Every key of a file -> its line. Inside of tables in braces, keys have the line of the whole."""
    found: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            table = parts(header["path"])
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                found.setdefault(table, number)
                table = (*table, counts[table])
            found.setdefault(table, number)
        elif assigned := ASSIGNED.match(line):
            keys = (*table, *parts(assigned["path"]))
            for end in range(len(table) + 1, len(keys) + 1):
                found.setdefault(keys[:end], number)
    return found


def parts(path: str) -> tuple[str, ...]:
    return tuple(next(group for group in match.groups() if group is not None) for match in PART.finditer(path))
