"""nbgrader's tree: `submitted/anna/ps1/problem.ipynb`, and beside it `timestamp.txt`, which says when.

The folder of the course, the one called `submitted`, and a copy of its students are all understood. Where a student has
several assignments, all of them are one submission, and it is as old as the newest.
"""

from __future__ import annotations

from datetime import datetime

from proctor.collecting.tree import Tree, joined, top_of
from proctor.collecting.upload import Found, Upload, Who, time_of
from proctor.marking.submissions import HANDED_IN, legible, skipped, suffix

SUBMITTED = "submitted"
STEPS = (SUBMITTED, "source", "release", "autograded", "feedback", "solution")  # folders of a course
TIMESTAMP = "timestamp.txt"
LOOKED_AT = 50  # students, to recognise the form


def top(tree: Tree) -> str | None:
    """There is a folder of that name, or most students have an assignment with a time."""
    for folder in dict.fromkeys(["", top_of(tree)]):
        inside = [(name, is_folder) for name, is_folder in tree.children(folder) if not skipped(name)]
        if (SUBMITTED, True) in inside and not any(is_folder for name, is_folder in inside if name not in STEPS):
            return joined(folder, SUBMITTED)
        students = [joined(folder, name) for name, is_folder in inside if is_folder][:LOOKED_AT]
        timed = sum(has_a_time(tree, student) for student in students)
        if 2 * timed > len(students) and not any(suffix(name) in HANDED_IN for name, below in inside if not below):
            return folder
    return None


def has_a_time(tree: Tree, student: str) -> bool:
    """Has an assignment of this student a time?"""
    assignments = [joined(student, name) for name, is_folder in tree.children(student) if is_folder]
    return any((TIMESTAMP, False) in tree.children(assignment) for assignment in assignments)


def uploads(tree: Tree, folder: str) -> Found:
    found = Found()
    for student, is_folder in tree.children(folder):
        if skipped(student) or (not is_folder and suffix(student) not in HANDED_IN):
            found.ignored.append(legible(student))
        elif not is_folder:
            found.unclear.append(joined(folder, student))
        else:
            place = joined(folder, student)
            at = newest_time(tree, place)
            found.uploads.append(Upload(Who(legible(student), login=legible(student)), place, at=at))
    return found


def newest_time(tree: Tree, student: str) -> datetime | None:
    """The newest time that a student's assignments have."""
    below = [joined(student, name) for name, is_folder in tree.children(student) if is_folder]
    texts = [tree.text(joined(place, TIMESTAMP)) for place in [student, *below]]
    times = [time for text in texts if text is not None and (time := time_of(text)) is not None]
    return max(times, default=None)
