"""Where things are: one stem per chapter, from its source to every file that is made from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path


class AuthoringError(Exception):
    """Something in a chapter that its author has to change: says where, and what to do."""


@dataclass(frozen=True)
class Facts:
    """What a card says about an exercise besides its name."""

    points: float = 1.0
    forbidden: tuple[str, ...] = ()


def facts_of_exercise(name: str) -> Facts:
    """Look an exercise of the course up."""
    from qkv.exercises import UnknownExercise, find

    try:
        exercise = find(name)
    except UnknownExercise as error:
        raise AuthoringError(f"the chapter has {name} as an exercise, but {error}") from None
    return Facts(exercise.points, tuple(family.title for family in exercise.forbid))


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

    def where(self, line: int | None = None) -> str:
        """How messages name the source: relative to the root, with the line if it is known."""
        path = self.source.relative_to(self.root).as_posix()
        return path if line is None else f"{path}:{line}"


@dataclass(frozen=True)
class Course:
    """A tree with chapters in `book/chapters`, and how to look up what an exercise is worth."""

    root: Path
    facts: Callable[[str], Facts] = field(default=facts_of_exercise, compare=False)

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
        """All chapters in order, or those whose stem, number or file name is asked for."""
        found = [
            Chapter(self.root, path.stem)
            for path in sorted((self.root / "book" / "chapters").glob("*.md"))
            if re.fullmatch(r"\d\d_\w+", path.stem)
        ]
        if only is None:
            return found
        wanted = list(only)
        unknown = [w for w in wanted if not any(_is_called(chapter, w) for chapter in found)]
        if unknown:
            known = ", ".join(chapter.stem for chapter in found) or "none yet"
            raise AuthoringError(f"No chapter {', '.join(unknown)} in book/chapters; there are: {known}.")
        return [chapter for chapter in found if any(_is_called(chapter, w) for w in wanted)]


def _is_called(chapter: Chapter, wanted: str) -> bool:
    return Path(wanted).stem in (chapter.stem, chapter.name) or wanted.lstrip("0") == str(chapter.number)
