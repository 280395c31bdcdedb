"""A chapter's source, read once: prose, code cells, and exercises with their code from the reference."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import jupytext
import nbformat

from qkv.authoring.build.claims import Claim, take_claims, without_findings
from qkv.authoring.build.definitions import Versions, definition
from qkv.course import AuthoringError, Chapter, Course, Facts


@dataclass(frozen=True)
class Prose:
    """Markdown between code cells, as the author wrote it."""

    text: str
    line: int  # in the chapter's source, from 1

    @property
    def predictions(self) -> list[str]:
        """The predictions that it asks of the reader, box by box."""
        return [box for _, box in PREDICT.findall(self.text)]


@dataclass(frozen=True)
class Code:
    """A code cell that is the same in every edition, the claims that it measures, and the cell without their lines."""

    source: str
    line: int  # in the chapter's source, from 1
    tags: tuple[str, ...]  # of the cell
    claims: tuple[Claim, ...]
    bare: str  # the source without the lines of claims


@dataclass(frozen=True)
class Task:
    """An exercise where it stands in its chapter: `number` is 1.2 for the second of chapter 1."""

    definition: Versions  # the solved version and the stub
    line: int  # in the chapter's source, from 1
    number: str
    facts: Facts = field(default_factory=Facts)

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def check(self) -> str:
        return f'check("{self.name}")' if self.facts.hand_in else f"check({self.name})"

    @property
    def terms(self) -> list[str]:
        """What it is worth, and what it takes: `1 point`, `about 15 minutes, ●●○`."""
        worth = f"{self.facts.points:g} point{'' if self.facts.points == 1 else 's'}"
        return [worth, self.facts.effort] if self.facts.effort else [worth]

    @property
    def forbidden(self) -> str:
        return f"Not allowed here: {', '.join(self.facts.forbidden)}." if self.facts.forbidden else ""


Part = Prose | Code | Task

PREDICT = re.compile(r"^(`{3,}|:{3,})\{admonition\} Predict\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)

LINK = re.compile(r"\[(?P<text>[^\[\]]+)\]\((?P<number>\d\d)_\w+\.md(?:#[\w-]*)?\)")


def read_chapter(chapter: Chapter, course: Course, text: str | None = None) -> list[Part]:
    """The parts of a chapter in order. `text` replaces the file where Sphinx has read it already."""
    source = chapter.source.read_text(encoding="utf-8") if text is None else text
    notebook = jupytext.myst.myst_to_notebook(source, add_source_map=True)
    return list(_parts(notebook, source.splitlines(), chapter, course))


@cache  # every later chapter asks
def exercises_in(text: str) -> tuple[str, ...]:
    """The exercises of a chapter in order."""
    cells = jupytext.myst.myst_to_notebook(text).cells
    return tuple(cell.source.strip() for cell in cells if _is_exercise(cell))


def _is_exercise(cell: nbformat.NotebookNode) -> bool:
    return "exercise" in cell.metadata.get("tags", ())


def without_links_ahead(text: str, written: set[int]) -> str:
    """A link to a chapter whose number is not in `_toc.yml` yet is its text alone, until that chapter is there."""
    return LINK.sub(lambda link: link[0] if int(link["number"]) in written else link["text"], text)


def _parts(notebook: nbformat.NotebookNode, lines: list[str], chapter: Chapter, course: Course) -> Iterator[Part]:
    names: list[str] = []
    written = {other.number for other in course.chapters()}
    for cell, start in zip(notebook.cells, notebook.metadata["source_map"], strict=True):
        tags = tuple(cell.metadata.get("tags", ()))
        if cell.cell_type == "markdown":
            while not lines[start].strip():  # jupytext counts the blank lines before a text as part of it
                start += 1
            yield Prose(without_links_ahead(cell.source, written), start + 1)
            continue
        line = start  # of the fence; the map has the first line inside it
        if not _is_exercise(cell):
            try:
                claims, bare = take_claims(cell.source)
            except ValueError as error:
                raise AuthoringError(f"{chapter.where(line)}: {error}") from None
            yield Code(without_findings(cell.source), line, tags, tuple(claims), bare)
            continue
        name = cell.source.strip()
        if not name.isidentifier():
            raise AuthoringError(
                f"{chapter.where(line)}: a cell tagged `exercise` holds the exercise's name alone, not {name!r}."
            )
        if name in names:
            raise AuthoringError(f"{chapter.where(line)}: the exercise {name} stands in this chapter twice.")
        names.append(name)
        try:
            facts = course.facts(name)
            hand_in = facts.hand_in  # the same for everybody: there is nothing to fill in
            found = Versions(name, hand_in, hand_in) if hand_in else definition(chapter.model, name)
        except AuthoringError as error:
            raise AuthoringError(f"{chapter.where(line)}: {error}") from None
        yield Task(found, line, f"{chapter.number}.{len(names)}", facts)


class Ids:
    """Cell ids that depend on what a cell holds, so that an edit changes one id and no other."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def of(self, text: str) -> str:
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self.named(digest[:12])

    def named(self, wish: str) -> str:
        wish = wish[:60].replace("_", "-")
        unique, n = wish, 2
        while unique in self.taken:
            unique, n = f"{wish}-{n}", n + 1
        self.taken.add(unique)
        return unique
