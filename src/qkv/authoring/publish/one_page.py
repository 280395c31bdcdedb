"""The GPT of the course as one program: what it needs of `qkv.model`, cut out and put in order.

The program is made when the book is built, so it is the code that the tests test. It leaves out what refuses bad input
and all of a docstring but its first line, and imports nothing of ours.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

from qkv.authoring.build.definitions import definition
from qkv.course import AuthoringError, Chapter, Course

ROOTS = {"capstone": ("TinyGPT", "next_token_loss", "write_story")}
PACKAGE = "qkv.model."
WIDTH = 100


def one_page(course: Course) -> str:
    """The program as a block of Markdown."""
    program = Program(course.root / "src" / "qkv" / "model")
    for stem, names in ROOTS.items():
        for name in names:
            program.add(stem, name)
    return f"```python\n{program.text(course.chapters())}\n```"


@dataclass
class Program:
    """Definitions of the modules of a folder, and the imports of them all."""

    folder: Path
    taken: dict[str, set[str]] = field(default_factory=dict)  # stem -> names
    imports: dict[str, set[str]] = field(default_factory=dict)  # `from a import` -> names; `import a` -> nothing

    def add(self, stem: str, name: str) -> None:
        """Take a definition of a module, and all that it uses."""
        if name in self.taken.setdefault(stem, set()):
            return
        self.taken[stem].add(name)
        module = self.parsed(stem)
        for used in _names(self.source(stem, _binding(module, name))):
            self.look_up(stem, module, used)

    def look_up(self, stem: str, module: ast.Module, name: str) -> None:
        """Take what a name means in a module, if the module itself gives it a meaning."""
        for node in module.body:
            if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
                where = node.module or ""
                if where.startswith(PACKAGE):
                    self.add(where.removeprefix(PACKAGE), name)
                else:
                    self.imports.setdefault(f"from {where} import", set()).add(name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if name == (alias.asname or alias.name):
                        self.imports[ast.unparse(ast.Import([alias]))] = set()
            elif _bound(node) == name:
                self.add(stem, name)

    def text(self, chapters: list[Chapter]) -> str:
        """The whole program, chapter by chapter: none uses what a later one defines."""
        imports = [f"{words} {', '.join(sorted(names))}".strip() for words, names in self.imports.items()]
        parts = ["from __future__ import annotations\n\n" + "\n".join(sorted(imports, key=_as_ruff_sorts))]
        for chapter in chapters:
            names = self.taken.get(chapter.stem, set())
            nodes = [node for node in self.parsed(chapter.stem).body if _bound(node) in names] if names else []
            sources = [self.source(chapter.stem, node) for node in nodes]
            parts += [f"# Chapter {chapter.number}: {chapter.title}\n{sources[0]}", *sources[1:]] if sources else []
        return "\n\n\n".join(parts)

    def parsed(self, stem: str) -> ast.Module:
        return ast.parse((self.folder / f"{stem}.py").read_text(encoding="utf-8"))

    def source(self, stem: str, node: ast.stmt) -> str:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return shortened(definition(self.folder / f"{stem}.py", node.name).solved)
        return ast.unparse(node)


def shortened(source: str) -> str:
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
    """Without the breaks that a comma after the last argument asks for, if a line of the page holds it."""
    if len(lines) < 3:
        return lines
    first, *arguments, last = lines
    inside = " ".join(argument.strip() for argument in arguments).rstrip(",")
    one, three = first + inside + last.strip(), [first, f"{arguments[0][: -len(arguments[0].lstrip())]}{inside}", last]
    return [one] if len(one) <= WIDTH else three if len(three[1]) <= WIDTH else lines


def _as_ruff_sorts(line: str) -> tuple[bool, bool, str]:
    return "torch" in line, line.startswith("from"), line


def _binding(module: ast.Module, name: str) -> ast.stmt:
    found = [node for node in module.body if _bound(node) == name]
    if not found:
        raise AuthoringError(f"No definition of {name} in qkv.model: the page with the whole GPT needs it.")
    return found[0]


def _bound(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
