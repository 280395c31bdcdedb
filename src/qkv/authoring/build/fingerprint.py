"""What a solved edition's outputs depend on, as one number: it is run again only when that changes."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

from qkv.authoring.build.reach import reach
from qkv.course import Chapter

# Modules whose definitions can change an output: followed from the chapter's cells through their imports.
FOLLOWED = ("qkv.model.", "qkv.figures", "qkv.tasks")
# How bad input is refused. Good input passes through it untouched, so no number comes from there; the words that a cell
# may show of a refusal are left to nbval, which runs every cell again.
CONTRACTS = ("qkv.model.expect",)
# What the card of a passed check looks like. How the verdict is found is left to nbval, which runs every check again.
SHAPE_CARDS = ("proctor.examining.result", "proctor.report.notebook")
# How a figure looks and is shown. It changes the figures of an edition, and nothing that a cell prints.
LOOKS = ("qkv.figures.style", "qkv.figures.phone", "qkv.figures.interactive")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SCRIPT = re.compile(r"[\"']([\w-]+\.(?:js|css|html))[\"']")


def fingerprint(chapter: Chapter, notebook: nbformat.NotebookNode, without: tuple[str, ...] = ()) -> str:
    """A hash over what the code cells say, and over what the definitions that they reach say.

    Args:
        without: modules that do not count.
    """
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    digest = hashlib.sha256(meaning_of_cells(notebook).encode())
    for path, text in reached(chapter, cells, without).items():
        digest.update(path.relative_to(chapter.root).as_posix().encode() + b"\0" + text.encode() + b"\0")
    return digest.hexdigest()


def meaning_of_cells(notebook: nbformat.NotebookNode) -> str:
    return "\0".join(meaning(cell.source) for cell in notebook.cells if cell.cell_type == "code")


@cache
def meaning(code: str) -> str:
    """Code without its layout, comments and docstrings, which change no output. The same in every version of Python."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a cell with a magic
        return code
    return json.dumps(_shape(tree), ensure_ascii=False)


@cache  # all chapters reach the same statements
def meaning_of(statement: ast.stmt) -> str:
    return json.dumps(_shape(statement), ensure_ascii=False)


def _shape(part: Any) -> Any:
    if isinstance(part, list):
        return [_shape(item) for item in part]
    if not isinstance(part, ast.AST):
        return repr(part)
    fields = {name: value for name, value in ast.iter_fields(part) if name != "kind"}
    if isinstance(part, DOCUMENTED) and ast.get_docstring(part, clean=False):
        fields["body"] = part.body[1:]
    told = {name: _shape(value) for name, value in fields.items() if value not in (None, [])}
    return [type(part).__name__, told]


def reached(chapter: Chapter, cells: list[str], without: tuple[str, ...] = ()) -> dict[Path, str]:
    """File -> what is said by the parts of it that this chapter's outputs depend on, sorted."""
    source = chapter.root / "src"
    own = [f"qkv.exercises.{chapter.stem}", f"qkv.model.{chapter.stem}", *SHAPE_CARDS]
    left_out = {*CONTRACTS, *without}

    def find(name: str) -> Path | None:
        followed = name not in left_out and (name in own or f"{name}.".startswith(FOLLOWED))
        return _file(source, name) if followed else None

    found: dict[Path, str] = {}
    for module in reach(cells, own, find).values():
        text = "\n".join(meaning_of(statement.node) for statement in module.statements())
        found |= {file: file.read_text(encoding="utf-8") for file in beside(module.path, text)}
        found[module.path] = text
    return dict(sorted(found.items()))


def beside(path: Path, text: str) -> list[Path]:
    """The scripts and styles that a module reads: those of its own name, and those that its text names."""
    named = [path.with_name(name) for name in SCRIPT.findall(text)]
    own = [file for file in path.parent.glob(f"{path.stem}.*") if file.suffix != ".py"]
    return [*own, *(file for file in named if file.is_file())]


def _file(source: Path, module: str) -> Path | None:
    path = source.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
