"""The GPT of the course as one program: what it needs of `qkv.model`, cut out and put in order.

The program is made when the book is built, so it is the code that the tests test. It leaves out what refuses bad input
and all of a docstring but its first line, and imports nothing of ours.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from proctor.source.statements import Statement
from qkv.authoring.build.definitions import definition, solved
from qkv.authoring.build.reach import Reached, reach
from qkv.course import Course

ROOTS = "from qkv.model.capstone import TinyGPT, next_token_loss, write_story"
PACKAGE = "qkv.model."
CONTRACTS = "qkv.model.expect"  # refuses bad input
WIDTH = 100


def one_page(course: Course) -> str:
    """The program as a block of Markdown: chapter by chapter, since none uses what a later one defines."""

    def find(name: str) -> Path | None:
        path = course.root.joinpath("src", *name.split(".")).with_suffix(".py")
        return path if name.startswith(PACKAGE) and name != CONTRACTS and path.is_file() else None

    modules = reach([ROOTS], [], find, solved)
    parts = ["from __future__ import annotations\n\n" + imports(modules.values())]
    for chapter in course.chapters():
        module = modules.get(f"{PACKAGE}{chapter.stem}")
        taken = [one for one in module.statements() if not one.is_import] if module else []
        sources = [source(chapter.model, statement) for statement in taken]
        parts += [f"# Chapter {chapter.number}: {chapter.title}\n{sources[0]}", *sources[1:]] if sources else []
    return "```python\n" + "\n\n\n".join(parts) + "\n```"


def imports(modules: Iterable[Reached]) -> str:
    """The imports of these modules from others, one line per module."""
    plain: set[str] = set()
    taken: dict[str, set[str]] = {}
    for node in (statement.node for module in modules for statement in module.statements()):
        if isinstance(node, ast.Import):
            plain.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom) and not f"{node.module}.".startswith(("__future__.", PACKAGE)):
            taken.setdefault(node.module or "", set()).update(alias.name for alias in node.names)
    lines = plain | {f"from {module} import {', '.join(sorted(names))}" for module, names in taken.items()}
    return "\n".join(sorted(lines, key=_as_ruff_sorts))


def source(module: Path, statement: Statement) -> str:
    """A statement as the page shows it, with the comment at its end."""
    name = getattr(statement.node, "name", None)
    return shortened_definition(definition(module, name).solved) if name else statement.text


def shortened_definition(source: str) -> str:
    """A definition with one line of docstring, its methods with none, and signatures on as few lines as hold them."""
    lines = source.splitlines()
    [outer] = ast.parse(source).body
    inner = [node for node in ast.walk(outer) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for node in sorted(inner, key=lambda node: node.lineno, reverse=True):  # from below, so that lines above stay
        first, last = node.body[0].lineno - 1, node.body[0].end_lineno
        if ast.get_docstring(node):
            short = lines[first] if lines[first].count('"""') == 2 else lines[first] + '"""'
            lines[first:last] = [short] if node is outer else []
        if isinstance(node, ast.FunctionDef):
            lines[node.lineno - 1 : first] = _signature(lines[node.lineno - 1 : first])
    return "\n".join(lines)


def _signature(lines: list[str]) -> list[str]:
    """A signature without the line breaks of a trailing comma, if it then fits on a line."""
    if len(lines) < 3:
        return lines
    first, *arguments, last = lines
    inside = " ".join(argument.strip() for argument in arguments).rstrip(",")
    one, three = first + inside + last.strip(), [first, f"{arguments[0][: -len(arguments[0].lstrip())]}{inside}", last]
    return [one] if len(one) <= WIDTH else three if len(three[1]) <= WIDTH else lines


def _as_ruff_sorts(line: str) -> tuple[bool, bool, str]:
    return "torch" in line, line.startswith("from"), line
