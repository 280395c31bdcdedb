"""Imports of the student's own parts: in the student edition what earlier exercises build comes from `qkv.mine`.

The chapter's source, the solved edition and the page import the same names from `qkv.model`. What they import under
another name (`Transformer as Machine`) stays ours in the student edition too, and the chapter says why.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping

from qkv.authoring.build.chapter import exercises_in
from qkv.course import Chapter, Course

COMMENT = "# yours, where they pass their check in your notebook, and ours until then; a line below says which"
WIDTH = 87  # the page's column, so that the cell reads like the others


def built_before(course: Course, chapter: Chapter) -> dict[str, set[str]]:
    """Module -> what the exercises of its chapter build, for every chapter before this one."""
    return {
        f"qkv.model.{other.stem}": set(exercises_in(other.source.read_text(encoding="utf-8")))
        for other in course.chapters()
        if other.number < chapter.number
    }


def with_own_parts(code: str, built: Mapping[str, set[str]]) -> str:
    """A cell that imports from `qkv.mine` what earlier exercises build; all else in it stays as it is.

    Args:
        code: the cell, as the author wrote it.
        built: module -> names that are the student's to build.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a cell with a magic
        return code
    lines: list[str | None] = list(code.splitlines())
    own: list[str] = []
    first = None
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or node.module is None or node.module not in built:
            continue
        theirs = [alias.name for alias in node.names if alias.name in built[node.module] and not alias.asname]
        if not theirs:
            continue
        own += theirs
        start, end = node.lineno - 1, node.end_lineno or node.lineno
        first = start if first is None else first
        node.names = [alias for alias in node.names if alias.name not in theirs]
        lines[start:end] = [ast.unparse(node) if node.names else None, *[None] * (end - start - 1)]
    if first is not None:
        lines[first] = "\n".join(filter(None, [lines[first], COMMENT, _import_of(own)]))
    return "\n".join(line for line in lines if line is not None)


def _import_of(names: list[str]) -> str:
    line = f"from qkv.mine import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    wrapped = textwrap.fill(", ".join(names), WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"from qkv.mine import (\n{wrapped},\n)"
