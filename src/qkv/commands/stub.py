"""`qkv stub`: the exercises of a chapter as a Python file to fill in, for people who like an editor."""

from __future__ import annotations

import ast
from collections.abc import Callable
from datetime import date
from pathlib import Path

from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.submissions import read_submitted_file
from proctor.source.statements import statements
from qkv import exercises, model
from qkv.assignments import SETUP
from qkv.notebook import places, review
from qkv.notebook.skipping import stub_of

HEAD = '''\
"""Chapter {number}, {title}: its exercises to fill in.

`qkv watch {name}` checks this file on every save and says what comes next; `qkv hint NAME` gives a nudge.
What earlier chapters and exercises build is there while an answer is checked: use it by its name.
"""

from __future__ import annotations
'''


REVIEW = '''\
"""To be written again, from nothing, and without looking: what you passed a week ago or more.

`qkv watch {name}` checks this file on every save. Your own first answers are where they were, in your notebooks.
"""

from __future__ import annotations
'''


class NoStub(Exception):
    """The reason why no stub was written; the message is for the person at the terminal."""


def stem_of(chapter: str) -> str:
    """The chapter that `05`, `5`, `masks` or `05_masks` stands for."""
    stems = exercises.CHAPTERS
    word = chapter.removesuffix(".ipynb").lstrip("0")
    found = [stem for n, stem in enumerate(stems, 1) if word in (str(n), stem, f"{n}_{stem}")]
    if not found:
        listed = ", ".join(f"{n:02} {stem}" for n, stem in enumerate(stems, 1))
        raise NoStub(f"There is no chapter {chapter}. There are: {listed}.")
    return found[0]


def write_stubs(chapter: str, out: Path | None = None, say: Callable[[str], None] = print) -> int:
    """Write a file of stubs, or add to a file of that name the stubs that it has not; never change what is there.

    Args:
        chapter: by number, stem, or an exercise of it, which then is the only one.
        out: the file; `05_masks.py` in the current folder by default.

    Returns:
        the exit code: 0, also if the file has all of them.
    """
    try:
        if chapter in exercises.of_code():
            stem, names = exercises.chapter_of(chapter), [chapter]
        else:
            stem = stem_of(chapter)
            names = [name for name in exercises.names_of(stem) if name in exercises.of_code()]
        if not names:
            raise NoStub(f"The exercises of chapter {stem} are answered by weights; its notebook trains them.")
        path = out or Path(f"{places.chapter_number(stem):02}_{stem}.py")
        if path.suffix != ".py":
            raise NoStub(f"{path} does not end in .py.")
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        answers = Answers([extract(read_submitted_file(path.name, path))]) if there else None
        missing = [name for name in names if answers is None or not answers.makes(0, name)]
        if there and not missing:
            say(f"{path} has all of them already; nothing was changed.")
            return 0
        head = HEAD.format(number=places.chapter_number(stem), title=places.chapter_title(stem), name=path.name)
        parts = [there.rstrip("\n")] if there else [f"{head}\n{SETUP.rstrip()}"]
        stubs = [titled_stub(name) for name in missing]
        if needed := imports_of(stem, "\n".join(stubs), bound_in(parts[0])):
            parts.append("\n".join(needed))
        parts += stubs
        path.write_text("\n\n\n".join(parts) + "\n", encoding="utf-8", newline="\n")
        say(f"{'Added to' if there else 'Wrote'} {path}: {', '.join(missing)}. Now: qkv watch {path}")
        return 0
    except NoStub as trouble:
        say(f"qkv stub: {trouble}")
        return 1


def imports_of(stem: str, stubs: str, there: set[str]) -> list[str]:
    """The imports of a chapter's model that its stubs use, such as `RMSNorm` in an `__init__` that is given."""
    used = {node.id for node in ast.walk(ast.parse(stubs)) if isinstance(node, ast.Name)}
    found = []
    for node in ast.parse(Path(model.__path__[0], f"{stem}.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("qkv.model"):
            names = [alias.name for alias in node.names if alias.name in used - there]
            found += [f"from {node.module} import {', '.join(names)}"] if names else []
    return found


def bound_in(text: str) -> set[str]:
    """The names that a file binds at its top level; none if it cannot be read yet."""
    try:
        return {name for one in statements(text) for name in one.binds}
    except (SyntaxError, ValueError, RecursionError):
        return set()


def titled_stub(name: str) -> str:
    """A stub below a line that says which exercise it is."""
    return f"# Exercise {places.exercise_number(name)}, {exercises.get(name).effort}\n{stub_of(name).rstrip()}"


def write_review(say: Callable[[str], None] = print) -> int:
    """Write the stubs of exercises that are due to be written again; returns the exit code."""
    names = review.due()
    if not names:
        say(f"Nothing is due. What you pass is asked for again after {review.INTERVAL.days} days.")
        return 0
    path = Path(review.FILE.format(day=date.today()))
    if path.exists():
        say(f"{path} is there already: write on in it. qkv watch {path}")
        return 0
    head = f"{REVIEW.format(name=path.name)}\n{SETUP.rstrip()}"
    path.write_text("\n\n\n".join([head, *map(titled_stub, names)]) + "\n", encoding="utf-8", newline="\n")
    say(f"Wrote {path}: {', '.join(names)}. Now: qkv watch {path}")
    return 0
