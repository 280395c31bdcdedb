"""Canvas's "download submissions": all files side by side, named `ahlanna_LATE_1041_5007_homework-1.ipynb`.

These are the name of the student, LATE if the submission was, the ids of the student and of the file, and the name that
the file had. Where grading is anonymous it is `anon_x7Qz2_5007_homework.ipynb`, without an id of the student. To a file
that is handed in again Canvas gives the same name with -1, -2, …, and a higher id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from proctor.collecting.tree import Tree, joined, top_of
from proctor.collecting.upload import Found, Upload, Who
from proctor.marking.submissions import HANDED_IN, legible, skipped, suffix

ANONYMOUS = re.compile(r"anon_(?P<name>[A-Za-z0-9]+)_(?P<late>LATE_)?(?P<file>\d+)_(?P<called>.+)", re.DOTALL)
NAMED = re.compile(r"(?P<name>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<called>.+)", re.DOTALL)
TYPED = re.compile(r".+_(LATE_)?\d+_(text|link)\.html")  # what was typed into Canvas's page
AGAIN = re.compile(r"(?P<stem>.+)-(?P<number>[1-9]\d?)(?P<suffix>\.[^.]+)", re.DOTALL)


def top(tree: Tree) -> str | None:
    """Most of the files at the top are named so."""
    folder = top_of(tree)
    work = [name for name, is_folder in tree.children(folder) if not is_folder and suffix(name) in HANDED_IN]
    folders = sum(is_folder and not skipped(name) for name, is_folder in tree.children(folder))
    ours = sum(matched(name) is not None for name in work)
    return folder if ours and 2 * ours > len(work) + folders else None


def uploads(tree: Tree, folder: str) -> Found:
    found = Found()
    for name, is_folder in tree.children(folder):
        match = None if is_folder else matched(name)
        if TYPED.fullmatch(name):
            found.ignored.append(f"{legible(name)} (typed into Canvas, not a file)")
        elif skipped(name) or (not is_folder and suffix(name) not in HANDED_IN):
            found.ignored.append(legible(name))
        elif match is None:
            found.unclear.append(joined(folder, name))
        else:
            called = match["called"]
            order = (int(match["file"]),)
            late = match["late"] is not None
            found.uploads.append(Upload(who(match), joined(folder, name), called, called, order, late=late))
    return with_versions(found)


def matched(name: str) -> re.Match[str] | None:
    return ANONYMOUS.fullmatch(name) or (None if name.startswith("anon_") else NAMED.fullmatch(name))


def who(match: re.Match[str]) -> Who:
    if match.re is ANONYMOUS:
        return Who(legible(f"anon_{match['name']}"))
    original = f"{match['name']}_{match['late'] or ''}{match['user']}_{match['file']}_"  # so Canvas knows it again
    folder = legible(f"{match['name']}_{match['user']}")
    return Who(folder, id=match["user"], name=legible(match["name"]), original=original)


def with_versions(found: Found) -> Found:
    """Put `hw-1.ipynb` into the slot of `hw.ipynb`, where the student has both.

    Where there is no `hw.ipynb`, `hw-1.ipynb` and `hw-2.ipynb` may as well be two parts: both are taken.
    """
    names: dict[str, set[str]] = {}
    for upload in found.uploads:
        names.setdefault(upload.who.folder, set()).add(upload.called)
    changed = []
    for upload in found.uploads:
        again = AGAIN.fullmatch(upload.called)
        plain = again["stem"] + again["suffix"] if again else ""
        slot = plain if plain in names[upload.who.folder] else upload.slot
        changed.append(Upload(upload.who, upload.path, upload.called, slot, upload.order, late=upload.late))
    found.remarks += [
        f"{folder}: {' and '.join(sorted(map(legible, parts)))} are taken as parts, not as versions of one file."
        for folder, mine in names.items()
        for parts in numbered(mine)
    ]
    found.uploads = changed
    return found


def numbered(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ in -1, -2, … alone, and of which none is without."""
    groups: dict[str, list[str]] = {}
    every = set(names)
    for name in every:
        if again := AGAIN.fullmatch(name):
            groups.setdefault(again["stem"] + again["suffix"], []).append(name)
    return [group for plain, group in sorted(groups.items()) if len(group) > 1 and plain not in every]
