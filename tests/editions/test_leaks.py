"""No student edition shows the answer to an exercise, be it in its own chapter or in another.

Code is compared by its syntax tree, with variables and sizes numbered in the order in which they occur: a copy under
other names, or on a line of its own, is found as well. It is no proof that a chapter gives nothing away.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from qkv import exercises
from qkv.authoring.build.definitions import definition
from qkv.course import Chapter, Course

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = Course(ROOT).chapters()
TELLING = 12  # parts of an expression that nobody writes by chance
SHORT = 7  # … and where the whole answer is shorter than that
SHARED = {"torch", "nn", "F", "math", "self"} | set(dir(builtins))  # names that mean the same everywhere
ALSO_RIGHT = {
    "causal_mask": [
        "torch.ones(n, n).tril().bool()",
        "torch.ones(n, n).tril() == 1",
        "torch.ones(n, n, dtype=torch.bool).tril()",
        "~torch.ones(n, n, dtype=torch.bool).triu(1)",
    ]
}
SHOWN = {"soft_lookup": "chapter 1 takes these steps one by one in front of the reader, who then puts them together"}
IN_PROSE = re.compile(r"^```python\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)


def expressions(code: str, name: str = "") -> dict[str, int]:
    """The shape of every expression -> of how many parts it is made. Those that use `name` itself are left out: an
    answer that goes through a batch by calling itself tells nothing by that."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and all(getattr(part, "id", None) != name for part in ast.walk(node)):
            parts = list(shape(node, {}))
            found[" ".join(parts)] = sum(part.startswith("+") for part in parts)
    return found


def shape(node: ast.AST, numbers: dict[object, int]) -> Iterator[str]:
    """An expression as words; those that begin with + count."""
    if isinstance(node, ast.Name) and node.id not in SHARED:
        yield f"+{numbers.setdefault(node.id, len(numbers))}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 2:
        yield f"+{numbers.setdefault(node.value, len(numbers))}"
    elif not isinstance(node, ast.expr_context):
        yield f"+{type(node).__name__}" if isinstance(node, ast.expr) else type(node).__name__
        for _, value in ast.iter_fields(node):
            for part in value if isinstance(value, list) else [value]:
                yield from shape(part, numbers) if isinstance(part, ast.AST) else [repr(part)]


def telling(name: str, chapter: Chapter) -> dict[str, int]:
    """What would give an exercise away: shape of an expression -> of how many parts it is made."""
    cut = definition(chapter.model, name)
    given = expressions(cut.stub)
    reference = {key: size for key, size in expressions(cut.solved).items() if key not in given}
    enough = max(SHORT, min(TELLING, max(reference.values(), default=0)))
    found = {key: size for key, size in reference.items() if size >= enough}
    for answer in [*kept(name, chapter), *ALSO_RIGHT.get(name, [])]:
        enough = SHORT if answer in ALSO_RIGHT.get(name, []) else TELLING
        found |= {key: size for key, size in expressions(answer, name).items() if size >= enough and key not in given}
    return found


def test_an_answer_that_calls_itself_gives_nothing_away() -> None:
    assert not any("ListComp" in key for key in expressions("[f(a, b) for a, b in zip(q, k, strict=True)]", "f"))
    assert any("ListComp" in key for key in expressions("[g(a, b) for a, b in zip(q, k, strict=True)]", "f"))


def kept(name: str, chapter: Chapter) -> Iterator[str]:
    """Right answers in other styles."""
    for path in (ROOT / "answers" / chapter.stem / "right").glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if getattr(node, "name", None) == name:
                yield ast.unparse(node)


def shown(chapter: Chapter) -> Iterator[tuple[str, str]]:
    """Cell -> code that its reader sees, in code cells and in prose."""
    for cell in nbformat.read(chapter.student, as_version=4).cells:
        if cell.cell_type == "code":
            yield cell.id, cell.source
        else:
            yield from ((cell.id, block or inline) for block, inline in IN_PROSE.findall(cell.source))


@pytest.fixture(scope="module")
def seen() -> dict[str, list[tuple[int, str]]]:
    """Shape of an expression -> the chapters and cells that show it."""
    found: dict[str, list[tuple[int, str]]] = {}
    for chapter in CHAPTERS:
        for cell, code in shown(chapter):
            for key in expressions(code):
                found.setdefault(key, []).append((chapter.number, cell))
    return found


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_no_student_edition_shows_an_answer(chapter: Chapter, seen: dict[str, list[tuple[int, str]]]) -> None:
    leaks = [
        f"{exercise.name} is answered in chapter {number}, cell {cell}: {key}"
        for exercise in exercises.of_chapter(chapter.stem)
        if exercise.name not in SHOWN and exercise.name in exercises.of_code()
        for key, size in telling(exercise.name, chapter).items()
        for number, cell in seen.get(key, [])
        if size >= TELLING or number <= chapter.number  # later on, a short one is common knowledge
    ]
    assert not leaks, "\n".join(leaks)


def test_a_copy_under_other_names_is_found() -> None:
    chapter = next(chapter for chapter in CHAPTERS if chapter.stem == "positions")
    copied = "pair = torch.stack([x * c - y * s, x * s + y * c], dim=-1)"
    assert telling("rotate", chapter).keys() & expressions(copied).keys()
    assert not telling("rotate", chapter).keys() & expressions("x = torch.stack([a * b, c], dim=-1)").keys()
