"""`qkv update`: a newer edition of the course with the student's work in it, as often as one likes.

Before anything changes, all of `notebooks/` is copied to a folder with the date in its name, and nothing here ever
writes into such a folder again. Whatever goes wrong later, the notebooks are put back as they were.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qkv.commands.carry import Carried, carry, cell_text
from qkv.notebook.workspace import BEGUN, PACKED, Workspace, edition_text, has_newer_edition, keep_edition

BACKUPS = "kept"  # at the top of the course; git ignores it
DISTRIBUTION = "qkv-course"  # as pip knows it
MOST_EDITIONS = 100  # that are looked at for the one that a notebook was begun with
Say = Callable[[str], None]


class NotUpdated(Exception):
    """The reason why there is no update; the message is for the person at the terminal."""


def update_course(place: Workspace, pull: bool = True, say: Say = print) -> int:
    """Bring the newest edition, and put the student's answers into it.

    Args:
        place: a clone of the course, or a folder with the notebooks of an installed one.
        pull: get it from where the clone came from, or by pip. Without, take the edition that is here already.
        say: takes the lines of the report.

    Returns:
        the exit code: 0 if the newest edition is here now, with all answers.
    """
    try:
        if place.is_clone:
            return _update(place.root, pull, say)
        return _install(place, say) if pull else _update_installed(place, say)
    except NotUpdated as trouble:
        say(f"qkv update: {trouble}")
        return 1


def _install(place: Workspace, say: Say) -> int:
    """Let pip install the newest edition; what it brought then puts the answers into it, in a process of its own."""
    pip = [sys.executable, "-m", "pip", "install", "--upgrade", "--quiet", DISTRIBUTION]
    if subprocess.run(pip, cwd=place.root).returncode:
        raise NotUpdated(
            "pip could not bring a newer edition (see above); nothing has changed. If you were given a wheel, install "
            "it with pip, then run `qkv update --no-pull`."
        )
    return subprocess.run([sys.executable, "-m", "qkv", "update", "--no-pull"], cwd=place.root).returncode


def _update_installed(place: Workspace, say: Say) -> int:
    began, newest = place.root / BEGUN, PACKED / "notebooks"
    if not has_newer_edition(place):
        say(
            f"Your notebooks are those of the edition that is installed ({version(DISTRIBUTION)}); nothing was changed."
        )
        return 0
    mine = texts(place.notebooks)
    copy = back_up(place.root)
    say(f"Your notebooks as they are now: {copy.relative_to(place.root).as_posix()}/")
    troubles = 0
    for name in sorted({path.name for path in newest.glob("*.ipynb")} | mine.keys()):
        base, new = edition_text(began, name), edition_text(newest, name)
        if name in mine and mine[name] != base:
            troubles += put_back(place.notebooks / name, mine[name], base, new, say)
        elif new is not None:
            write_whole(place.notebooks / name, new)
    keep_edition(place)
    say("Reload notebooks that are open in JupyterLab: File, Reload Notebook from Disk.")
    return 1 if troubles else 0


def _update(root: Path, pull: bool, say: Say) -> int:
    if not (root / ".git").exists():
        raise NotUpdated(f"{root} is not a clone made by git, so there is nowhere to get a newer edition from.")
    notebooks = root / "notebooks"
    before = git(root, "rev-parse", "HEAD")
    worked = {name: mine for name, mine in texts(notebooks).items() if mine != edition(root, before, name)}
    base = {name: base_edition(root, name, mine) for name, mine in worked.items()}
    at_newest = not pull and all(base[name] == edition(root, before, name) for name in worked)
    if pull:
        at_newest = not brings_news(root, before) and not git(root, "ls-files", "--deleted", "--", "notebooks")
    if at_newest:
        say(f"This is the newest edition ({git(root, 'log', '-1', '--format=%h, %cs')}); nothing was changed.")
        return 0
    if worked:
        copy = back_up(root)
        say(f"Your notebooks as they are now: {copy.relative_to(root).as_posix()}/")
    if pull:
        fast_forward(root, notebooks, worked)
    after = git(root, "rev-parse", "HEAD")
    say(f"The course is up to date ({git(root, 'log', '-1', '--format=%h, %cs')}).")
    if not pull:
        put_editions(root, notebooks, worked, after)
    troubles = sum(
        put_back(notebooks / name, mine, base[name], edition(root, after, name), say) for name, mine in worked.items()
    )
    if worked:
        say("Reload notebooks that are open in JupyterLab: File, Reload Notebook from Disk.")
    if git(root, "diff", "--name-only", before, after, "--", "requirements.lock", "pyproject.toml"):
        say("Packages have changed, too: `make start` brings them (without make: pip install -r requirements.lock).")
    return 1 if troubles else 0


# ---- copies


def back_up(root: Path, now: datetime | None = None) -> Path:
    """Copy all of notebooks/ into a new folder; returns it."""
    date = (now or datetime.now()).strftime("%Y-%m-%d_%H-%M-%S")
    for number in range(1, 1000):
        copy = root / BACKUPS / (date if number == 1 else f"{date}_{number}")
        try:
            copy.parent.mkdir(exist_ok=True)
            shutil.copytree(root / "notebooks", copy, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
            return copy
        except FileExistsError:
            continue
    raise NotUpdated(f"no free name for a copy in {root / BACKUPS}.")


def texts(notebooks: Path) -> dict[str, str]:
    """The notebooks on the disk, by name."""
    found = sorted(notebooks.glob("*.ipynb"))
    return {path.name: path.read_text(encoding="utf-8", errors="surrogateescape") for path in found}


def write_whole(path: Path, content: str) -> None:
    """Write a file atomically."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(content, encoding="utf-8", errors="surrogateescape", newline="\n")
    draft.replace(path)


# ---- the newer edition


def brings_news(root: Path, before: str) -> bool:
    """Does the branch that this one follows have commits that are not here?"""
    upstream = git(root, "rev-parse", "--abbrev-ref", "@{upstream}", fails=True)
    if not upstream:
        return True  # which is said where it is asked for
    git(root, "fetch", "--quiet")
    return git(root, "rev-list", "--count", f"{before}..{upstream}") != "0"


def fast_forward(root: Path, notebooks: Path, worked: dict[str, str]) -> None:
    """Fast-forward to the newest edition by git. If that fails, the notebooks are restored."""
    upstream = git(root, "rev-parse", "--abbrev-ref", "@{upstream}", fails=True)
    if not upstream:
        raise NotUpdated(
            "this branch follows no other (git has no upstream for it). With the newest edition in place, "
            "`qkv update --no-pull` puts your answers into it."
        )
    git(root, "fetch", "--quiet")
    try:
        tracked = [f"notebooks/{name}" for name in worked if edition(root, "HEAD", name) is not None]
        tracked += git(root, "ls-files", "--deleted", "--", "notebooks").splitlines()
        if tracked:
            git(root, "checkout", "--quiet", "HEAD", "--", *tracked)
        git(root, "merge", "--quiet", "--ff-only", upstream)
    except BaseException as trouble:
        for name, mine in worked.items():
            write_whole(notebooks / name, mine)
        if not isinstance(trouble, NotUpdated):
            raise
        raise NotUpdated(
            f"git could not go forward to {upstream}; your notebooks are as they were.\n{trouble}\n"
            "Files that you changed outside of notebooks/, or commits of your own, are yours to merge: run `git pull`, "
            "then `qkv update --no-pull`."
        ) from trouble


def put_editions(root: Path, notebooks: Path, worked: dict[str, str], commit: str) -> None:
    """Write the edition of a commit where the student worked: the answers come next."""
    for name in worked:
        fresh = edition(root, commit, name)
        if fresh is not None:
            write_whole(notebooks / name, fresh)


def edition(root: Path, commit: str, name: str) -> str | None:
    """A notebook as a commit has it; None if it has no such notebook."""
    return git(root, "show", f"{commit}:notebooks/{name}", fails=True, strip=False) or None


def base_edition(root: Path, name: str, mine: str) -> str | None:
    """The edition that a notebook was begun with: of all in git's history, the one that shares the most cells with
    it."""
    commits = git(root, "log", f"-{MOST_EDITIONS}", "--format=%H", "--", f"notebooks/{name}", fails=True).split()
    editions = [found for commit in commits if (found := edition(root, commit, name)) is not None]
    try:
        theirs = set(map(cell_text, parse_notebook(mine)["cells"]))
        return max(
            editions, key=lambda e: len(theirs.intersection(map(cell_text, parse_notebook(e)["cells"]))), default=None
        )
    except (ValueError, KeyError, TypeError, AttributeError):  # it is no notebook any more
        return editions[0] if editions else None


def git(root: Path, *words: str, fails: bool = False, strip: bool = True) -> str:
    """The output of a git command. If it fails, raises `NotUpdated` with git's message, or returns nothing where that
    is allowed."""
    command = ["git", "-C", str(root), *words]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        raise NotUpdated("git is not installed, or not found.") from None
    if done.returncode:
        if fails:
            return ""
        raise NotUpdated(done.stderr.strip() or f"git {words[0]} failed.")
    return done.stdout.strip() if strip else done.stdout


# ---- the student's work


def put_back(path: Path, mine: str, base: str | None, new: str | None, say: Say) -> int:
    """Write one notebook: the new edition with the student's work in it. Returns 1 if that cannot be."""
    if new is None or base is None or base == new:  # theirs alone, or no other than before
        write_whole(path, mine)
        return 0
    try:
        carried = carry(parse_notebook(mine), parse_notebook(base), parse_notebook(new))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        say(f"  {path.name}: your file could not be read as a notebook ({error}); the new edition is in its place.")
        return 1
    write_whole(path, json.dumps(carried.notebook, indent=1, ensure_ascii=False) + "\n")
    say(f"  {path.name}: {summary(carried)}")
    return 0


def parse_notebook(content: str) -> dict[str, Any]:
    notebook = json.loads(content)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("it has no cells")
    return notebook


def summary(carried: Carried) -> str:
    answers = ", ".join(carried.answers) or "no answers"
    more = carried.cells
    return f"{answers} carried over" + (f", and {more} other {'cell' if more == 1 else 'cells'} of yours" * bool(more))
