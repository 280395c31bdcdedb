"""The exercises that changed since main: those with a changed file that their proof rests on.

`git` knows what changed; a clone without history, or a folder that is no clone, has changed nothing.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from qkv import exercises
from qkv.authoring.write.sample_answers import defined_in


def changed_exercises(root: Path) -> list[str]:
    """The names of the exercises that changed, in course order."""
    found = {name for file in changed_files(root) for name in proved_by(root, Path(file))}
    return [name for name in exercises.names() if name in found]


def changed_files(root: Path) -> list[str]:
    """The files that differ from `base`, committed or not, new ones and deleted ones too; relative to the root."""
    compared = git(root, "diff", "--name-only", "-z", "--no-renames", "--relative", base(root), "--")
    new = git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({file for listed in (compared, new) if listed for file in listed.split("\0") if file})


def base(root: Path) -> str:
    """The commit to compare with: the one that `QKV_SINCE` names, which a workflow knows of a push; else where this
    branch left main. On main itself that is HEAD, and all that counts is what is not committed; if all is, the last
    commit."""
    since = os.environ.get("QKV_SINCE", "")
    if since and git(root, "cat-file", "-e", f"{since}^{{commit}}") is not None:  # a new branch has none: it is 000…
        return since
    head = git(root, "rev-parse", "HEAD") or "HEAD"
    for main in ("origin/main", "main"):
        left = git(root, "merge-base", "HEAD", main)
        if left and (left != head or git(root, "status", "--porcelain")):
            return left
    return git(root, "rev-parse", "--verify", "-q", "HEAD~1") or "HEAD"


def proved_by(root: Path, file: Path) -> tuple[str, ...]:
    """The exercises whose proof rests on a file: an exercise's own, one shared in a chapter, the chapter's references,
    a sample answer. If the exercises of a file are unknown (deleted, unreadable), all of its chapter."""
    match file.parts:
        case ("src", "qkv", "exercises", stem, _) if stem in exercises.CHAPTERS:
            known = exercises.names_of(stem)
            only_order = file.name == "__init__.py"  # an exercise that is new has a file of its own
            return (file.stem,) if file.stem in known else () if only_order else known
        case ("src", "qkv", "model", _) if file.stem in exercises.CHAPTERS:
            return exercises.names_of(file.stem)
        case ("answers", stem, "right" | "wrong", _) if stem in exercises.CHAPTERS:
            known = exercises.names_of(stem)
            answered = answered_by(root / file)
            return known if answered is None else tuple(name for name in known if name in answered)
    return ()


def answered_by(path: Path) -> tuple[str, ...] | None:
    """The names that a sample answer defines, or the exercise that a file of weights is named after; None if
    unknown."""
    if path.suffix != ".py":
        return (path.stem.split("-")[0],)
    try:
        return defined_in(path)
    except (OSError, SyntaxError):
        return None


def git(root: Path, *words: str) -> str | None:
    """The output of a git command; None if it fails, or if git is not installed."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, encoding="utf-8")
    except OSError:
        return None
    return done.stdout.strip("\n") if done.returncode == 0 else None
