"""Where things are: one stem per chapter, from its source to every file that is made from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

NAME = re.compile(r"\d\d_\w+")  # 01_lookup
LISTED = re.compile(rf"^ *- file: book/chapters/({NAME.pattern})$", re.MULTILINE)  # how _toc.yml names a chapter


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
        """The chapters in the order of `_toc.yml`; or those asked for by stem, number or file name.

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
        toc = (self.root / "_toc.yml").read_text(encoding="utf-8")
        found = [Chapter(self.root, name) for name in LISTED.findall(toc)]
        missing = [chapter.where() for chapter in found if not chapter.source.is_file()]
        if missing:
            raise AuthoringError(
                f"_toc.yml lists {', '.join(missing)}, which does not exist: write it, or take it out."
            )
        return found


def _is_called(chapter: Chapter, wanted: str) -> bool:
    return Path(wanted).stem in (chapter.stem, chapter.name) or wanted.lstrip("0") == str(chapter.number)
