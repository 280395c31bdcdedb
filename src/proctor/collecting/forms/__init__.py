"""The forms in which classes are downloaded. A new form is a new file here and a line in FORMS.

Each has `top`, the folder of a tree that is of this form (None if there is none), and `uploads`, what it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proctor.collecting.forms import canvas, classroom, folders, gradescope, moodle, nbgrader
from proctor.collecting.tree import Tree
from proctor.collecting.upload import Found


@dataclass(frozen=True)
class Form:
    """A form of download: how instructors call it, how it is recognised, and how it is read."""

    title: str
    top: Callable[[Tree], str | None]
    uploads: Callable[[Tree, str], Found]


FORMS: dict[str, Form] = {  # the most particular first: the last one takes anything
    "gradescope": Form("Gradescope's export", gradescope.top, gradescope.uploads),
    "moodle": Form("Moodle's download", moodle.top, moodle.uploads),
    "nbgrader": Form("nbgrader's tree", nbgrader.top, nbgrader.uploads),
    "classroom": Form("GitHub Classroom's repositories", classroom.top, classroom.uploads),
    "canvas": Form("Canvas's download", canvas.top, canvas.uploads),
    "folders": Form("a folder or file per student", folders.top, folders.uploads),
}


def recognised(tree: Tree) -> str:
    """The name of the form that a download has."""
    return next(name for name, form in FORMS.items() if form.top(tree) is not None)
