"""The folder that a student works in: a clone of the course, or any folder beside a course that pip installed.

A wheel carries the notebooks and the built book in `qkv/edition/` (`make wheel` puts them there). `qkv start` copies
the notebooks into the folder where it is called, and keeps each as it was handed out in `.qkv/edition/`: what differs
from that is the student's own when `qkv update` brings a newer edition.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from qkv import course

PACKED = Path(course.__file__).with_name("edition")  # in a wheel alone
BEGUN = Path(".qkv") / "edition"  # in a workspace: the notebooks as they were handed out
AGENTS = "AGENTS.md"  # how an assistant helps without solving
ALSO_READ = ("CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")  # by assistants that look for no AGENTS.md


class NoWorkspace(Exception):
    """The reason why there is nothing to work in; the message is for the person at the terminal."""


@dataclass(frozen=True)
class Workspace:
    """Where notebooks, book, settings and logs are."""

    root: Path
    book: Path  # the built pages
    made: Path  # what we write: settings and the log of JupyterLab
    is_clone: bool = True

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def tabs(self) -> Path:
        """The folder in which JupyterLab stores open tabs."""
        return self.root / ".qkv" / "workspaces"


def of_clone(root: Path) -> Workspace:
    return Workspace(root, root / "_build" / "html", root / "_build")


def of_folder(root: Path) -> Workspace:
    """The workspace of a course that pip installed."""
    return Workspace(root, PACKED / "html", root / ".qkv", is_clone=False)


def top(here: Path) -> Path | None:
    """The top of the workspace that a folder is in, if it is in one."""
    folders = (folder for folder in (here, *here.parents) if (folder / "notebooks").is_dir())
    return next((f for f in folders if (f / "_toc.yml").exists() or (f / BEGUN).is_dir()), None)


def find_workspace(here: Path | None = None) -> Workspace:
    """The workspace that a folder is in; else the clone that this package lies in; else a new one in this folder."""
    here = (here or Path.cwd()).resolve()
    found = top(here)
    if found is not None:
        return of_clone(found) if (found / "_toc.yml").exists() else of_folder(found)
    clone = course.root()
    if clone is not None and (clone / "notebooks").is_dir():
        return of_clone(clone)
    if not PACKED.is_dir():
        raise NoWorkspace(
            "no notebooks: this installation has none. Install the course's wheel with pip, or clone the course and "
            "run `pip install -e .` there."
        )
    return of_folder(here)


def begin(place: Workspace) -> bool:
    """Put the notebooks of the installed course into a new workspace; False if it has them already."""
    if place.is_clone or (place.root / BEGUN).is_dir():
        return False
    if place.notebooks.exists():
        raise NoWorkspace(
            f"{place.notebooks} exists already, and not from this course. Make an empty folder, run `qkv start` there."
        )
    shutil.copytree(PACKED / "notebooks", place.notebooks)
    advise_assistants(place.root)
    keep_edition(place)
    return True


def advise_assistants(root: Path) -> None:
    """Put the advice for AI assistants into a new workspace, by all the names that they look for; never over a file."""
    if not (PACKED / AGENTS).is_file():
        return
    if not (root / AGENTS).exists():
        shutil.copyfile(PACKED / AGENTS, root / AGENTS)
    for name in ALSO_READ:
        link = root / name
        if link.exists() or link.is_symlink():
            continue
        link.parent.mkdir(exist_ok=True)
        try:
            link.symlink_to(os.path.relpath(root / AGENTS, link.parent))
        except OSError:  # Windows lets few people make links
            shutil.copyfile(PACKED / AGENTS, link)


def keep_edition(place: Workspace) -> None:
    """Store the notebooks of the installed course as those that this workspace was begun with."""
    draft = place.root / ".qkv" / "edition.new"
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(PACKED / "notebooks", draft)
    shutil.rmtree(place.root / BEGUN, ignore_errors=True)
    draft.rename(place.root / BEGUN)


def edition_text(folder: Path, name: str) -> str | None:
    """A notebook of an edition that is a folder; None if it has no such notebook."""
    path = folder / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


def has_newer_edition(place: Workspace) -> bool:
    """Was another edition installed since the notebooks of this workspace were put here?"""
    if place.is_clone or not (place.root / BEGUN).is_dir():
        return False
    names = {path.name for folder in (PACKED / "notebooks", place.root / BEGUN) for path in folder.glob("*.ipynb")}
    return any(edition_text(PACKED / "notebooks", n) != edition_text(place.root / BEGUN, n) for n in names)
