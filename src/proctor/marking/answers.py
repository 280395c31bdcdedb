"""One student's definitions, and how an answer is taken out of them: with all that it uses, and nothing else.

Each file is a world of its own, as it was for its author: an answer is taken from the file that defines it. What that
file uses without defining it is looked for in the student's other files; their Python files can be imported, too.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from proctor.inside.running import Cell
from proctor.marking.extraction import Definition, Problem, Source

BY_NAME = {"eval", "exec", "globals", "locals", "vars"}  # code that uses these may reach anything
NEVER_THEIRS = {"torch", "numpy", "proctor", *sys.stdlib_module_names}


@dataclass(frozen=True)
class Slice:
    """Some answers with everything that they use, in the order of their file."""

    definitions: tuple[Definition, ...]
    modules: dict[str, str]  # files of the student that they import
    needs: frozenset[str]  # every global name that occurs in them

    def cells(self) -> list[Cell]:
        """What the sandbox runs. Each definition is a cell of its own, so that one that fails spoils only itself."""
        groups: list[list[Definition]] = []
        for definition in self.definitions:
            together = (
                groups and definition.is_import and groups[-1][0].is_import and groups[-1][0].place == definition.place
            )
            if together:
                groups[-1].append(definition)
            else:
                groups.append([definition])
        labels: set[str] = set()
        cells = []
        for group in groups:
            cells.append(Cell(unique_label(group[0], labels), text_of(group)))
            labels.add(cells[-1].label)
        return cells

    def imports(self, module: str) -> bool:
        """Do they import this module, or anything below it?"""
        return any(f"{name}.".startswith(f"{module}.") for d in self.definitions for name in d.imports)


class Answers:
    """All files of one student."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._binding = [index(source.definitions) for source in sources]
        self._wide = [[d for d in s.definitions if d.is_future or d.is_star] for s in sources]  # they name no names

    @property
    def problems(self) -> list[Problem]:
        return [problem for source in self.sources for problem in source.problems]

    def file_index(self, name: str) -> int | None:
        """The file that answers an exercise: the last that does more than the stub, or else the last that has it."""
        best, rank = None, 0
        for number, binding in enumerate(self._binding):
            if name in binding:
                last = binding[name][-1]
                quality = 1 if last.is_import else 2 if last.is_stub else 3
                if quality >= rank:
                    best, rank = number, quality
        return best

    def binds(self, file: int, name: str) -> bool:
        return name in self._binding[file]

    def makes(self, file: int, name: str) -> bool:
        """Does this file define the name itself, rather than import it?"""
        return any(not d.is_import for d in self._binding[file].get(name, ()))

    def slice(self, file: int, names: Iterable[str]) -> Slice:
        """Take answers out of a file, with all that they use."""
        chosen: dict[int, set[Definition]] = {}
        wanted = list(names)
        seen: set[str] = set()
        unknown: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name in seen:
                continue
            seen.add(name)
            place, found = self._find(name, file)
            if not found and not hasattr(builtins, name):
                unknown.add(name)
            if name in BY_NAME:
                place, found = file, self.sources[file].definitions
            for definition in found:
                if definition not in chosen.setdefault(place, set()):
                    chosen[place].add(definition)
                    wanted += definition.needs
        always = [d for d in self._wide[file] if d.is_future or unknown]
        chosen.setdefault(file, set()).update(always)
        order = [*(n for n in range(len(self.sources)) if n != file), file]
        definitions = tuple(d for n in order if n in chosen for d in self.sources[n].definitions if d in chosen[n])
        return Slice(definitions, self._modules(file, definitions), frozenset(seen))

    def _find(self, name: str, file: int) -> tuple[int, Sequence[Definition]]:
        if name in self._binding[file]:
            return file, self._binding[file][name]
        for number in reversed(range(len(self.sources))):
            if name in self._binding[number]:
                return number, self._binding[number][name]
        return file, ()

    def _modules(self, file: int, definitions: Sequence[Definition]) -> dict[str, str]:
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
        asked = {name.split(".")[0] for d in definitions for name in d.imports}
        if not asked & {name.split(".")[0] for name in found}:
            return {}
        return {name: text_of(source.definitions) for name, source in found.items()}


def index(definitions: Sequence[Definition]) -> dict[str, list[Definition]]:
    """Name -> the definitions that bind it, in order."""
    found: dict[str, list[Definition]] = {}
    for definition in definitions:
        for name in definition.binds:
            found.setdefault(name, []).append(definition)
    return found


def text_of(definitions: Sequence[Definition]) -> str:
    """Definitions of one cell or file as text, each at its own line."""
    lines: list[str] = []
    for definition in definitions:
        first, *rest = definition.text.split("\n")
        lines += [""] * (definition.line - 1 - len(lines))
        if len(lines) >= definition.line:  # it shares its line with the one before
            lines[-1] += f"; {first}"
            lines += rest
        else:
            lines += [first, *rest]
    return "\n".join(lines) + "\n"


def unique_label(definition: Definition, taken: set[str]) -> str:
    """How to speak of a cell: where it is, and what it defines if that place has several."""
    name = min(definition.binds, default="")
    labels = definition.place, f"{definition.place} ({name})", f"{definition.place} ({name} in line {definition.line})"
    return next((label for label in labels if label not in taken), labels[-1])
