"""A folder or file per student, called as the student is: `alice/…`, `alice.ipynb`, `alice.py` and `alice.zip`."""

from __future__ import annotations

from datetime import datetime

from proctor.collecting.tree import Tree, ZipTree, joined, top_of
from proctor.collecting.upload import Found, Upload, Who, time_of
from proctor.marking.submissions import HANDED_IN, legible, skipped, suffix

TIMESTAMP = "timestamp.txt"


def top(tree: Tree) -> str | None:
    return top_of(tree) if isinstance(tree, ZipTree) else ""  # an archive often has the folder's own name outside


def uploads(tree: Tree, folder: str) -> Found:
    found = Found()
    for name, is_folder in tree.children(folder):
        if skipped(name) or (not is_folder and suffix(name) not in HANDED_IN):
            found.ignored.append(legible(name))
        else:
            student = name if is_folder else name[: -len(suffix(name))]
            path = joined(folder, name)
            at = time_in(tree, path) if is_folder else None
            found.uploads.append(Upload(Who(legible(student)), path, "" if is_folder else name, name, at=at))
    return found


def time_in(tree: Tree, folder: str) -> datetime | None:
    """The time that a student's folder has in a file."""
    text = tree.text(joined(folder, TIMESTAMP))
    return time_of(text) if text is not None else None
