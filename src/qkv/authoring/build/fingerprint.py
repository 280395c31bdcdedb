"""A fingerprint of all that a solved edition's outputs depend on: it is run again only if that changes."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

from proctor.source.cells import parse_cell
from proctor.source.statements import statements
from qkv.authoring.build.reach import reach
from qkv.course import Chapter

# Modules whose definitions can change an output: followed from the chapter's cells through their imports.
FOLLOWED = ("qkv.model.", "qkv.figures", "qkv.tasks", "qkv.training", "qkv.pretrained")
# How bad input is refused. Good input passes through it untouched, so no number comes from there; the words that a cell
# may show of a refusal are left to nbval, which runs every cell again.
CONTRACTS = ("qkv.model.expect",)
# What the card of a passed check looks like. How the verdict is found is left to nbval, which runs every check again.
SHAPE_CARDS = ("proctor.examining.result", "proctor.report.notebook")
# How a figure looks and is shown. It changes the figures of an edition, and nothing that a cell prints.
LOOKS = ("qkv.figures.style", "qkv.figures.phone", "qkv.figures.interactive")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SCRIPT = re.compile(r"[\"']([\w-]+\.(?:js|css|html))[\"']")


def of_outputs(chapter: Chapter, notebook: nbformat.NotebookNode, cards: Iterable[Sequence[str]] = ()) -> str:
    """A hash over what any output of a solved edition depends on: its cells, the definitions that they reach, and what
    the cards of its checks show.

    Args:
        cards: what the card of each passed check depends on, besides its looks (`course.Facts.card`).
    """
    cells = [cell.source for cell in _code(notebook)]
    return _digest(
        chapter, cells, reached(chapter, cells, whole=SHAPE_CARDS), json.dumps([list(card) for card in cards])
    )


def of_measures(chapter: Chapter, notebook: nbformat.NotebookNode) -> str:
    """A hash over what a claim can depend on. A card and the looks of a figure change no number, and neither does an
    exercise that nothing else uses: so a new misconception or exercise makes no claim stale."""
    cells = cells_of_claims(notebook)
    return _digest(chapter, cells, reached(chapter, cells, without=LOOKS))


def _digest(chapter: Chapter, cells: list[str], files: Mapping[Path, str], *more: str) -> str:
    digest = hashlib.sha256("\0".join([*map(meaning, cells), *more]).encode())
    for path, text in files.items():
        digest.update(path.relative_to(chapter.root).as_posix().encode() + b"\0" + text.encode() + b"\0")
    return digest.hexdigest()


def cells_of_claims(notebook: nbformat.NotebookNode) -> list[str]:
    """The code cells but for checks, and for exercises whose names no other of these cells uses."""
    cells = [cell for cell in _code(notebook) if "check" not in cell.metadata.get("tags", ())]
    chosen = {cell.id for cell in cells if "exercise" not in cell.metadata.get("tags", ())}
    while True:
        used = {name for cell in cells if cell.id in chosen for name in _uses(cell.source)}
        more = {cell.id for cell in cells if used & _defines(cell.source)} - chosen
        if not more:
            return [cell.source for cell in cells if cell.id in chosen]
        chosen |= more


def _uses(code: str) -> set[str]:
    return {name for statement in statements(parse_cell(code)) for name in statement.needs}


def _defines(code: str) -> set[str]:
    return {name for statement in statements(parse_cell(code)) if statement.defines for name in statement.binds}


def _code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


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
    fields_shape = {name: _shape(value) for name, value in fields.items() if value not in (None, [])}
    return [type(part).__name__, fields_shape]


def reached(
    chapter: Chapter, cells: list[str], whole: tuple[str, ...] = (), without: tuple[str, ...] = ()
) -> dict[Path, str]:
    """File -> what is said by the definitions in it that these cells reach, sorted.

    Args:
        whole: modules that count in full.
        without: modules that do not count.
    """
    source = chapter.root / "src"

    def find(name: str) -> Path | None:
        followed = name in whole or (name not in {*CONTRACTS, *without} and f"{name}.".startswith(FOLLOWED))
        return _file(source, name) if followed else None

    found: dict[Path, str] = {}
    for module in reach(cells, whole, find).values():
        text = "\n".join(meaning_of(statement.node) for statement in module.statements())
        found |= {file: file.read_text(encoding="utf-8") for file in scripts_of(module.path, text)}
        found[module.path] = text
    return dict(sorted(found.items()))


def scripts_of(path: Path, text: str) -> list[Path]:
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
