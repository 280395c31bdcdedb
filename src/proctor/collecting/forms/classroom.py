"""GitHub Classroom's repositories: `hw1-submissions/hw1-aahl`, the name of the assignment and the login of the student.

Without the outer folder, the assignment is what the names of all repositories begin with. Repositories say when their
commits were made, and whoever commits decides what they say; git would also run what a hostile repository has set up.
So no time is taken from them.
"""

from __future__ import annotations

import os

from proctor.collecting.tree import Tree, joined, top_of
from proctor.collecting.upload import Found, Upload, Who
from proctor.marking.submissions import legible, skipped

OUTER = "-submissions"
GIT = ".git"
LOOKED_AT = 50  # folders, to recognise the form


def top(tree: Tree) -> str | None:
    """The folder is called so, or most of what is in it are repositories."""
    for folder in dict.fromkeys([top_of(tree), ""]):
        names = [name for name, is_folder in tree.children(folder) if is_folder and not skipped(name)][:LOOKED_AT]
        outer = outer_name(tree, folder)
        named = sum(bool(outer) and name.startswith(f"{outer}-") for name in names)
        repositories = sum((GIT, True) in tree.children(joined(folder, name)) for name in names)
        if 2 * max(named, repositories) > len(names):
            return folder
    return None


def outer_name(tree: Tree, folder: str) -> str:
    """The assignment that the outer folder names; empty if it names none."""
    name = folder.rsplit("/", 1)[-1] or tree.name
    return name.removesuffix(OUTER) if name.endswith(OUTER) else ""


def uploads(tree: Tree, folder: str) -> Found:
    found = Found()
    repositories = [name for name, is_folder in tree.children(folder) if is_folder and not skipped(name)]
    assignment = outer_name(tree, folder) or common_beginning(repositories)
    for name, is_folder in tree.children(folder):
        login = name.removeprefix(f"{assignment}-") if assignment and name.startswith(f"{assignment}-") else ""
        if skipped(name) or not is_folder:
            found.ignored.append(legible(name))
        elif not login:
            found.unclear.append(joined(folder, name))
        else:
            found.uploads.append(Upload(Who(legible(login), login=login), joined(folder, name)))
    if assignment:
        found.remarks.append(f"The assignment is called {legible(assignment)}; what follows it is the login.")
    return found


def common_beginning(names: list[str]) -> str:
    """What all names begin with, up to a hyphen; empty for one name, which does not tell where its login begins."""
    beginning = os.path.commonprefix(names)  # noqa: RUF071 - of characters
    return beginning.rpartition("-")[0] if len(names) > 1 else ""
