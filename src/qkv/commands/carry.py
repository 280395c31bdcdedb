"""Carry a student's work from the notebook that they worked in into a newer edition of it.

An answer is found by the name that it defines, everything else by the ids of cells. What the student wrote always
arrives: in its place where the new edition has that place, and else as a cell of its own behind the cell that it
followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from proctor.source.cells import parse_cell
from proctor.source.statements import statements

Notebook = dict[str, Any]
Cell = dict[str, Any]


@dataclass
class Carried:
    """The new edition with the student's work in it: names of answers in their places, and how many further cells."""

    notebook: Notebook  # the new edition with the work in it
    answers: list[str] = field(default_factory=list)  # names of answers that found their places
    cells: int = 0  # number of further cells of the student's


def carry(mine: Notebook, base: Notebook, new: Notebook) -> Carried:
    """Put what a student wrote into a new edition.

    Args:
        mine: the notebook that they worked in.
        base: the edition that they began with. What differs from it is theirs.
        new: the edition to come.
    """
    result = Carried(deepcopy(new))
    before, places = by_id(base), by_id(result.notebook)
    behind: str | None = None  # the last cell of theirs that the new edition has too
    following: dict[str | None, list[Cell]] = {}
    for cell, place in matched_cells(mine, base):
        old, now = before.get(place), places.get(place)
        if now is not None:
            behind = place
        if old is not None and cell_text(cell) == cell_text(old):
            if now is not None and cell_text(now) == cell_text(cell):
                keep_outputs(cell, now)
            continue
        if now is not None and cell_text(now) == cell_text(cell):
            keep_outputs(cell, now)
        elif now is not None and (is_exercise(now) or cell_text(now) == cell_text(old)):
            now["source"] = cell["source"]
            keep_outputs(cell, now)
            if is_exercise(now):
                result.answers.append(name_of(now))
            else:
                result.cells += 1
        elif cell_text(cell).strip():
            following.setdefault(behind, []).append(cell)
            result.cells += 1
    result.notebook["cells"] = list(interleaved(result.notebook, following))
    return result


def matched_cells(mine: Notebook, base: Notebook) -> Iterator[tuple[Cell, str]]:
    """The student's cells, each with the id of the cell of the edition that it is; empty if it is one of their own.

    Some editors drop ids or make new ones: such a cell is known by its text, or by the exercise that it defines.
    """
    known = by_id(base)
    taken = {cell.get("id") for cell in mine["cells"]} & known.keys()
    texts = {cell_text(cell): identity for identity, cell in known.items() if identity not in taken}
    exercises = {name_of(cell): i for i, cell in known.items() if is_exercise(cell) and i not in taken}
    for cell in mine["cells"]:
        identity = cell.get("id", "")
        if identity not in known:
            defined = [exercises[name] for name in defines(cell) if name in exercises]
            identity = texts.pop(cell_text(cell), "") or (defined[0] if defined else "")
            exercises = {name: i for name, i in exercises.items() if i != identity}
        yield cell, identity


def interleaved(new: Notebook, following: dict[str | None, list[Cell]]) -> Iterator[Cell]:
    """The cells of the new edition, with the student's own behind those that they followed."""
    taken = {cell.get("id") for cell in new["cells"]}
    for anchor in [None, *new["cells"]]:
        if anchor is not None:
            yield anchor
        for cell in following.get(anchor and anchor.get("id"), []):
            copy = deepcopy(cell)
            wish = copy.get("id") or "mine"
            copy["id"] = next(i for i in (wish, *(f"{wish[:50]}-mine-{n}" for n in range(1, 10_000))) if i not in taken)
            taken.add(copy["id"])
            copy.setdefault("metadata", {}).pop("tags", None)  # `exercise` and `check` are the edition's own words
            yield copy


def by_id(notebook: Notebook) -> dict[str, Cell]:
    return {cell["id"]: cell for cell in notebook["cells"] if cell.get("id")}


def cell_text(cell: Cell | None) -> str:
    source = cell["source"] if cell else ""
    return source if isinstance(source, str) else "".join(source)


def is_exercise(cell: Cell) -> bool:
    return "exercise" in cell.get("metadata", {}).get("tags", ())


def name_of(cell: Cell) -> str:
    """The exercise that a cell of an edition holds."""
    found = defines(cell)
    return found[-1] if found else ""


def defines(cell: Cell) -> list[str]:
    """The names that a code cell binds, except by imports; none if it cannot be read."""
    if cell.get("cell_type") != "code":
        return []
    try:
        found = [one for one in statements(parse_cell(cell_text(cell))) if one.defines and not one.is_import]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [name for one in found for name in sorted(one.binds)]


def keep_outputs(cell: Cell, now: Cell) -> None:
    """The outputs belong to the text, and come along with it."""
    for part in ("outputs", "execution_count"):
        if part in cell and now.get("cell_type") == "code":
            now[part] = cell[part]
