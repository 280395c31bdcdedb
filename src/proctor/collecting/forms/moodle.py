"""Moodle's "download all submissions": a folder per student, named `Anna Ahl_12345_assignsubmission_file`.

These are the student's name and the number that they have in this assignment, then what they handed in. Older Moodles
write an underscore at the end, or put the files side by side, with their own names after it. Feedback files go back in
folders of the same names.
"""

from __future__ import annotations

import re

from proctor.collecting.tree import Tree, joined, top_of
from proctor.collecting.upload import Found, Upload, Who
from proctor.marking.submissions import HANDED_IN, legible, skipped, suffix

NAMED = re.compile(r"(?P<name>[^_]*)_(?P<number>\d+)_assignsubmission_(?P<kind>[a-z]+)(_(?P<called>.*))?", re.DOTALL)


def top(tree: Tree) -> str | None:
    """Most of what is at the top is named so."""
    for folder in dict.fromkeys(["", top_of(tree)]):
        inside = [(name, is_folder) for name, is_folder in tree.children(folder) if not skipped(name)]
        work = [name for name, is_folder in inside if is_folder or suffix(name) in HANDED_IN]
        if 2 * sum(NAMED.fullmatch(name) is not None for name in work) > len(work):
            return folder
    return None


def uploads(tree: Tree, folder: str) -> Found:
    found = Found()
    for name, is_folder in tree.children(folder):
        match = NAMED.fullmatch(name)
        if skipped(name) or (not is_folder and suffix(name) not in HANDED_IN):
            found.ignored.append(legible(name))
        elif match is None or bool(match["called"]) is is_folder:
            found.unclear.append(joined(folder, name))
        elif match["kind"] != "file":
            found.ignored.append(f"{legible(name)} (typed into Moodle, not a file)")
        else:
            called = match["called"] or ""
            original = f"{match['name']}_{match['number']}_assignsubmission_file_"
            student = legible(f"{match['name']}_{match['number']}")
            who = Who(student, name=legible(match["name"]), original=original)
            found.uploads.append(Upload(who, joined(folder, name), called, called or name))
    return found
