"""The chapters of the course, and the place of all their files. One stem per chapter, everywhere.

`_toc.yml` says which chapters there are and in what order, a chapter's file name its number and stem, its front matter
how many minutes it takes, its first heading what it is called. All else that needs to know asks here. Where the package
was installed without the book (a wheel, Gradescope), `chapters.json` beside this file tells the same; `qkv build`
writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

NAME = re.compile(r"\d\d_\w+")  # 01_lookup
FOLDER = "book/chapters/"
FRONT = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
PACKED = Path(__file__).with_name("chapters.json")


class AuthoringError(Exception):
    """An error in a chapter that its author has to fix: where it is, and what to do."""


@dataclass(frozen=True)
class Facts:
    """The facts that a card shows about an exercise besides its name."""

    points: float = 1.0
    forbidden: tuple[str, ...] = ()  # titles of forbidden families
    hand_in: str = ""  # the cell that hands it in, where weights are asked for and no code
    card: tuple[str, ...] = ()  # all that the card of an answer that passes depends on
    effort: str = ""  # about how long it takes, and how hard it is


def facts_of_exercise(name: str) -> Facts:
    """The facts of an exercise of the course."""
    from qkv import exercises

    try:
        if name in exercises.of_weights():
            weights = exercises.get_weights(name)
            return Facts(weights.points, hand_in=weights.stub, card=weights.card(), effort=weights.effort)
        exercise = exercises.get_code(name)
    except exercises.UnknownExercise as error:
        raise AuthoringError(f"the chapter has {name} as an exercise, but {error}") from None
    forbidden = tuple(family.title for family in exercise.forbid)
    return Facts(exercise.points, forbidden, card=exercise.card(), effort=exercise.effort)


@dataclass(frozen=True)
class Chapter:
    """One chapter: `01_lookup` has number 1 and stem `lookup`."""

    root: Path
    name: str

    @property
    def number(self) -> int:
        return int(self.name.split("_")[0])

    @property
    def stem(self) -> str:
        return self.name.split("_", 1)[1]

    @property
    def source(self) -> Path:
        return self.root / "book" / "chapters" / f"{self.name}.md"

    @property
    def student(self) -> Path:
        return self.root / "notebooks" / f"{self.name}.ipynb"

    @property
    def solved(self) -> Path:
        return self.root / "solutions" / f"{self.name}.ipynb"

    @property
    def model(self) -> Path:
        return self.root / "src" / "qkv" / "model" / f"{self.stem}.py"

    @property
    def title(self) -> str:
        """Its first heading, up to a colon."""
        heading = re.search(r"^# (.+)$", self._text, re.MULTILINE)
        if heading is None:
            raise AuthoringError(f"{self.where()}: it should begin with a title: # What the chapter is about")
        return heading[1].split(":")[0].strip()

    @property
    def minutes(self) -> int:
        """Minutes that a student takes, exercises included."""
        import yaml

        front = FRONT.match(self._text)
        found = (yaml.safe_load(front[1]) or {}).get("minutes") if front else None
        if not isinstance(found, int):
            raise AuthoringError(f"{self.where()}: its front matter should say how long it takes: minutes: 90")
        return found

    @property
    def _text(self) -> str:
        return self.source.read_text(encoding="utf-8")

    def where(self, line: int | None = None) -> str:
        """The source as messages name it: relative to the root, with the line if it is known."""
        path = self.source.relative_to(self.root).as_posix()
        return path if line is None else f"{path}:{line}"


@dataclass(frozen=True)
class Course:
    """A tree with chapters in `book/chapters`, and how to look up what an exercise is worth."""

    root: Path
    facts: Callable[[str], Facts] = field(default=facts_of_exercise, compare=False)  # looks up the facts of an exercise

    @classmethod
    def here(cls) -> Course:
        """The tree that holds this file, or the one that holds the working directory."""
        for start in (Path(__file__).resolve(), Path.cwd().resolve() / "_"):
            for folder in start.parents:
                if (folder / "_toc.yml").is_file() and (folder / "book" / "chapters").is_dir():
                    return cls(folder)
        raise AuthoringError(
            "No course here: expected a folder with _toc.yml and book/chapters. Run this inside a clone of the course."
        )

    def chapters(self, only: Iterable[str] | None = None) -> list[Chapter]:
        """The chapters in the order of `_toc.yml`; or those selected by stem, number or file name.

        A file in `book/chapters` that `_toc.yml` does not list is a draft: it is built when it is asked for.
        """
        listed = self._listed()
        if only is None:
            return listed
        wanted = list(only)
        known = [*listed, *(draft for draft in self.on_disk() if draft not in listed)]
        unknown = [w for w in wanted if not any(_is_called(chapter, w) for chapter in known)]
        if unknown:
            names = ", ".join(chapter.stem for chapter in known) or "none yet"
            raise AuthoringError(f"No chapter {', '.join(unknown)} in book/chapters; there are: {names}.")
        return [chapter for chapter in known if any(_is_called(chapter, w) for w in wanted)]

    def on_disk(self) -> list[Chapter]:
        """Every chapter that has a source, drafts too."""
        found = sorted((self.root / "book" / "chapters").glob("*.md"))
        return [Chapter(self.root, path.stem) for path in found if NAME.fullmatch(path.stem)]

    def _listed(self) -> list[Chapter]:
        import yaml

        toc = yaml.safe_load((self.root / "_toc.yml").read_text(encoding="utf-8"))
        names = [file.removeprefix(FOLDER) for file in _files(toc) if file.startswith(FOLDER)]
        found = [Chapter(self.root, name) for name in names if NAME.fullmatch(name)]
        missing = [chapter.where() for chapter in found if not chapter.source.is_file()]
        if missing:
            raise AuthoringError(
                f"_toc.yml lists {', '.join(missing)}, which does not exist: write it, or take it out."
            )
        return found


def _is_called(chapter: Chapter, wanted: str) -> bool:
    return Path(wanted).stem in (chapter.stem, chapter.name) or wanted.lstrip("0") == str(chapter.number)


def _files(toc: Any) -> Iterator[str]:
    """Every page that a table of contents names, in order."""
    if isinstance(toc, dict):
        if isinstance(toc.get("file"), str):
            yield toc["file"]
        toc = list(toc.values())
    if isinstance(toc, list):
        for part in toc:
            yield from _files(part)


# ---- for installations with or without the book


@dataclass(frozen=True)
class Entry:
    """A chapter as an installed course knows it."""

    number: int
    stem: str
    title: str
    minutes: int

    @property
    def label(self) -> str:
        """The chapter's name in reports."""
        return f"Chapter {self.number:02}: {self.stem}"


def root() -> Path | None:
    """The working copy that this file lies in; None if the package was installed without the book."""
    return next(
        (f for f in Path(__file__).resolve().parents if (f / "_toc.yml").is_file() and (f / FOLDER).is_dir()), None
    )


@cache
def entries() -> tuple[Entry, ...]:
    """The chapters in order."""
    here = root()
    if here is None:
        return tuple(Entry(**entry) for entry in json.loads(PACKED.read_text(encoding="utf-8")))
    return tuple(entries_of(Course(here)))


def entries_of(course: Course) -> Iterator[Entry]:
    for chapter in course.chapters():
        yield Entry(chapter.number, chapter.stem, chapter.title, chapter.minutes)


def packed(course: Course) -> str:
    """The text of `chapters.json`."""
    return json.dumps([asdict(entry) for entry in entries_of(course)], indent=1, ensure_ascii=False) + "\n"
