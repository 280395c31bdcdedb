"""What a solved edition's outputs depend on, as one number: it is run again only when that changes."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import nbformat

from qkv.authoring.course import Chapter

# Modules whose text can change an output: followed from the chapter's cells through their imports.
FOLLOWED = ("qkv.model.", "qkv.figures", "qkv.tasks")
# What the card of a passed check looks like. How the verdict is found is left to nbval, which runs every check again.
SHAPE_CARDS = ("proctor.result", "proctor.report.notebook")


def fingerprint(chapter: Chapter, notebook: nbformat.NotebookNode) -> str:
    """A hash over the code cells and over the modules that they reach."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    digest = hashlib.sha256()
    for text in cells:
        digest.update(text.encode() + b"\0")
    for path in reached(chapter, cells):
        digest.update(path.relative_to(chapter.root).as_posix().encode() + b"\0")
        digest.update(path.read_text(encoding="utf-8").encode() + b"\0")
    return digest.hexdigest()


def reached(chapter: Chapter, cells: list[str]) -> list[Path]:
    """The files of the course that this chapter's outputs depend on, sorted."""
    source = chapter.root / "src"
    own = [f"qkv.exercises.{chapter.stem}", f"qkv.model.{chapter.stem}", *SHAPE_CARDS]
    waiting = [path for name in own if (path := _file(source, name))]
    found = set(waiting)
    texts = [*cells]
    while waiting or texts:
        text = texts.pop() if texts else waiting.pop().read_text(encoding="utf-8")
        for name in imported(text):
            path = _file(source, name)
            if path and path not in found and f"{name}.".startswith(FOLLOWED):
                found.add(path)
                waiting.append(path)
    beside = {file for path in found for file in path.parent.glob(f"{path.stem}.*") if file.suffix != ".pyc"}
    return sorted(found | beside)  # figures/dial.html belongs to figures/dial.py


def imported(text: str) -> list[str]:
    """Names that a text may import as modules; `from a import b` may mean `a.b`."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a cell with a magic; it imports nothing of ours
        return []
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def _file(source: Path, module: str) -> Path | None:
    path = source.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
