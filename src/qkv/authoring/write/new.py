"""`qkv new exercise`: write the pieces of an exercise, each in its place, for an author to fill in.

What is written runs: a reference that doubles its input, one probe, one mistake, a right and a wrong answer. Everything
that the author has to put into words or replace says TODO, and `qkv lint` complains until none is left.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path

from qkv.course import AuthoringError, Chapter, Course

MARK = "TODO"
CLOSING = "## What to take away"  # a new exercise comes before it
WIDTH = 120

REFERENCE = '''

def {name}(x: Tensor) -> Tensor:
    """TODO: what it means, in one sentence.

    Args:
        x: TODO: its role (..., d).

    Returns:
        TODO: what comes back (..., d).
    """
    return 2 * x
'''

EXERCISE = '''

{name}_exercise = Exercise(
    {name},
    section="{section}",
    minutes=10,
    difficulty=1,
    why="TODO: what a student has won who passes it, in a sentence.",
    hints=["TODO: the gentlest", "TODO: one that says more", "TODO: one that nearly says it"],
)


@{name}_exercise.probe
def {name}_of_a_batch({name}: Any) -> dict[str, Any]:
    """TODO: the situation, in words"""
    x = normal(*distinct(2, 9, 3, seed="sizes"), seed="x")
    return {{"output": {name}(x)}}


@{name}_exercise.misconception
def {name}_tripled(x: Tensor) -> Tensor:
    """TODO: the mistake, in one sentence to the student.

    TODO: why it matters.
    """
    return 3 * x
'''

TEST = '''"""TODO: `{name}` against something independent."""

from __future__ import annotations

import torch

from qkv.model.{stem} import {name}


def test_{name}_agrees_with_a_loop() -> None:
    x = torch.linspace(-1, 1, 15).reshape(3, 5)
    expected = torch.tensor([[2 * number for number in row] for row in x.tolist()])
    torch.testing.assert_close({name}(x), expected)
'''

ANSWER = '''"""TODO: {what}, in one line."""


def {name}(x):
    return {body}
'''

CELL = """```{{code-cell}} ipython3
:tags: [exercise]
{name}
```

"""


def new_exercise(name: str, stem: str, course: Course | None = None, say: Callable[[str], None] = print) -> int:
    """Write the pieces of an exercise at the end of a chapter.

    Args:
        name: of the function that students will write.
        stem: of the chapter.

    Returns:
        0, or 1 when it cannot be written; then nothing is.
    """
    try:
        course = course or Course.here()
        written = pieces(name, stem, course)
    except AuthoringError as error:
        say(str(error))
        return 1
    write(written, course, say)
    say(f"Replace what says {MARK}, then: qkv lint {name}, qkv build {stem}")
    return 0


def write(pieces: dict[Path, str], course: Course, say: Callable[[str], None]) -> None:
    for path, text in pieces.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        say(f"  written  {path.relative_to(course.root).as_posix()}")


def pieces(name: str, stem: str, course: Course) -> dict[Path, str]:
    """File -> its text with the new exercise in it."""
    chapter = course.chapters([stem])[0]
    if not name.isidentifier():
        raise AuthoringError(f"{name!r} is no name of a function. For example: qkv new exercise nearest_key")
    answers = course.root / "answers" / chapter.stem
    exercises = course.root / "src" / "qkv" / "exercises" / f"{chapter.stem}.py"
    model, place = read(chapter.model), read(exercises)
    taken = [path for path, text in ((chapter.model, model), (exercises, place)) if name in bound(text)]
    if taken:
        raise AuthoringError(f"{taken[0].relative_to(course.root).as_posix()} has a {name} already: take another name.")
    source, section = placed(chapter, name)
    for module, imported in (
        ("typing", "Any"),
        ("torch", "Tensor"),
        ("proctor", "Exercise"),
        ("proctor.inside.inputs", "distinct"),
        ("proctor.inside.inputs", "normal"),
        (f"qkv.model.{chapter.stem}", name),
    ):
        place = with_import(place, module, imported)
    bare = isinstance(ast.parse(place).body[-1], ast.ImportFrom)  # ruff wants one blank line there, not two
    found = {
        chapter.model: with_import(model, "torch", "Tensor").rstrip("\n") + "\n" + REFERENCE.format(name=name),
        exercises: place.rstrip("\n") + "\n" * (1 if bare else 2) + EXERCISE[1:].format(name=name, section=section),
        course.root / "tests" / "qkv" / "model" / f"test_{name}.py": TEST.format(name=name, stem=chapter.stem),
        answers / "right" / f"{name}.py": ANSWER.format(name=name, what="a right answer", body="x + x"),
        answers / "wrong" / f"{name}.py": ANSWER.format(name=name, what="a mistake that you saw", body="x**2"),
        chapter.source: source,
    }
    there = [path for path in list(found)[2:5] if path.exists()]
    if there:
        raise AuthoringError(f"{there[0].relative_to(course.root).as_posix()} exists already: take another name.")
    return found


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AuthoringError(f"There is no {path.name} in {path.parent}: a chapter comes first.") from None


def bound(text: str) -> set[str]:
    """The names that a module binds at its top."""
    return {name for names, _ in bindings(text) for name in names}


def bindings(text: str) -> list[tuple[list[str], int]]:
    """The names that each statement at the top of a module binds, and its line."""
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            continue
        found.append((names, node.lineno))
    return found


def placed(chapter: Chapter, name: str) -> tuple[str, str]:
    """The chapter with a cell for the exercise before its closing, and the section in which that is."""
    text = read(chapter.source)
    before, closing, after = text.partition(f"\n{CLOSING}\n")
    sections = re.findall(r"^##+ (.+)$", before, re.MULTILINE)
    if not closing or not sections:
        raise AuthoringError(f"{chapter.where()} needs a section, and after it {CLOSING!r}: the exercise goes between.")
    return f"{before.rstrip()}\n\n{CELL.format(name=name)}{CLOSING}\n{after}", sections[-1].strip()


def with_import(text: str, module: str, name: str) -> str:
    """The text of a module that imports a name as well, in the order in which ruff wants imports."""
    if name in bound(text):
        return text
    lines = text.splitlines(keepends=True)
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in imports:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            names = sorted({alias.name for alias in node.names} | {name}, key=_rank)
            lines[node.lineno - 1 : node.end_lineno] = [statement(module, names)]
            return "".join(lines)
    ours = ("proctor", "qkv")
    later = [
        node
        for node in imports
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ours) and (node.module or "") > module
    ]
    at = (later[0].lineno - 1) if module.startswith(ours) and later else (imports[-1].end_lineno or 0) if imports else 0
    last = imports[-1] if imports else None
    above = "" if last is None else (last.module or "") if isinstance(last, ast.ImportFrom) else last.names[0].name
    apart = "\n" if at and not later and _group(above) != _group(module) else ""
    lines.insert(at, apart + statement(module, [name]))
    return "".join(lines)


def _group(module: str) -> int:
    """`__future__`, Python's own, others', ours: a blank line stands between them."""
    top = module.partition(".")[0]
    return -1 if top == "__future__" else 0 if top in sys.stdlib_module_names else 2 if top in ("proctor", "qkv") else 1


def statement(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= WIDTH + 1:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def _rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name
