"""One student's definitions, and how an answer is taken out of them: with all that it uses, and nothing else.

Each file is a world of its own, as it was for its author: an answer is taken from the file that defines it. What that
file uses without defining it is looked for in the student's other files; their Python files can be imported, too.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from proctor.inside.running import Cell
from proctor.marking.extraction import Problem, Source
from proctor.source.closure import Module, closure
from proctor.source.statements import Statement
from proctor.source.text import at_their_lines

NEVER_THEIRS = {"torch", "numpy", "proctor", *sys.stdlib_module_names}
# Empty lines that put definitions at their own line numbers. Cells of their own would need the square of a file's
# length: behind so many, definitions of one place share a cell.
MOST_PADDING = 1_000_000


@dataclass(frozen=True)
class Slice:
    """Some answers with everything that they use, in the order of their file."""

    definitions: tuple[Statement, ...]
    modules: dict[str, str]  # files of the student that they import
    needs: frozenset[str]  # every global name that occurs in them

    def cells(self) -> list[Cell]:
        """The cells to run. Each definition is a cell of its own, so that a failing one spoils only itself."""
        return [Cell(label, at_their_lines(group)) for label, group in self.labelled().items()]

    def labelled(self) -> dict[str, list[Statement]]:
        """The definitions of each cell."""
        found: dict[str, list[Statement]] = {}
        group: list[Statement] = []
        padding = 0
        for definition in self.definitions:
            here = bool(group) and group[0].place == definition.place
            both_import = here and group[0].is_import and definition.is_import
            label = "" if both_import or (here and padding > MOST_PADDING) else free_label(definition, found)
            if label:
                group = found[label] = [definition]
                padding += definition.line
            else:
                group.append(definition)
        return found

    def imports(self, module: str) -> bool:
        """Do they import this module, or anything below it?"""
        return any(f"{name}.".startswith(f"{module}.") for d in self.definitions for name, _ in d.imports)


class Answers:
    """All files of one student."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._modules = [Module(source.definitions) for source in sources]

    @property
    def problems(self) -> list[Problem]:
        return [problem for source in self.sources for problem in source.problems]

    def bound_inside(self, name: str) -> str:
        """Where code that is not taken would define this name; empty if none would."""
        return next((source.inside[name] for source in reversed(self.sources) if name in source.inside), "")

    def file_index(self, name: str) -> int | None:
        """The file that answers an exercise: the last that does more than the stub, or else the last that has it."""
        best, rank = None, 0
        for number, module in enumerate(self._modules):
            if name in module.binding:
                last = module.binding[name][-1]
                quality = 1 if last.is_import else 2 if last.is_stub else 3
                if quality >= rank:
                    best, rank = number, quality
        return best

    def files_with(self, name: str) -> list[int]:
        """The files that answer an exercise in words of their own, the one that `file_index` takes first."""
        found: dict[str, int] = {}
        for number in reversed(range(len(self._modules))):
            last = self._modules[number].binding.get(name, [None])[-1]
            if last is not None and not last.is_import and not last.is_stub:
                found.setdefault(last.text, number)
        return list(found.values())

    def binds(self, file: int, name: str) -> bool:
        return name in self._modules[file].binding

    def makes(self, file: int, name: str) -> bool:
        """Does this file define the name itself, rather than import it?"""
        return any(not d.is_import for d in self._modules[file].binding.get(name, ()))

    def slice(self, file: int, names: Iterable[str]) -> Slice:
        """Take answers out of a file, with all that they use."""
        others = [module for number, module in enumerate(self._modules) if number != file]
        found = closure(names, self._modules[file], *reversed(others))
        return Slice(found.statements, self._imported(file, found.statements), found.names)

    def _imported(self, file: int, definitions: Sequence[Statement]) -> dict[str, str]:
        """The student's own Python files, if they are imported."""
        if len(self.sources) == 1:
            return {}
        folder = PurePosixPath(self.sources[file].name).parent
        found = {}
        for number, source in enumerate(self.sources):
            path = PurePosixPath(source.name)
            if number != file and path.suffix == ".py":
                path = path.relative_to(folder) if path.is_relative_to(folder) else path
                parts = path.with_suffix("").parts
                parts = parts[:-1] if parts[-1] == "__init__" else parts
                if parts and parts[0] not in NEVER_THEIRS:
                    found[".".join(parts)] = source
        asked = {name.split(".")[0] for d in definitions for name, _ in d.imports}
        if not asked & {name.split(".")[0] for name in found}:
            return {}
        return {name: at_their_lines(source.definitions) for name, source in found.items()}


def free_label(definition: Statement, taken: Collection[str]) -> str:
    """An unused label for a cell: its place, with the name or line that it defines if needed; empty if none is free."""
    name = min(definition.binds, default="")
    labels = definition.place, f"{definition.place} ({name})", f"{definition.place} ({name} in line {definition.line})"
    return next((label for label in labels if label not in taken), "")
