"""Two versions of a definition in a reference module: the solved one, and the stub that students start from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proctor.source.stub import Cutter
from proctor.source.text import FunctionOrClass, Text
from qkv.course import AuthoringError

CHECKS_INPUT = {"expects"}  # refuses bad input before the body runs; no part of the answer


@dataclass(frozen=True)
class Versions:
    """One exercise in a reference module: its full source, and the same without its answer."""

    name: str
    solved: str  # the full source
    stub: str  # the source without its answer


def definition(module: Path, name: str) -> Versions:
    """Cut the function or class `name` out of a reference module."""
    if not module.is_file():
        raise AuthoringError(f"No reference module {module.as_posix()}: write it, {name} is to be defined there.")
    text = Text(module.read_text(encoding="utf-8"))
    cut = Cutter(text, CHECKS_INPUT, f"raise NotImplementedError(\"write it, or skip('{name}')\")")
    for node in text.tree.body:
        if isinstance(node, FunctionOrClass) and node.name == name:
            return Versions(name, cut.whole(node), cut.stub(node))
    raise AuthoringError(f"{module.as_posix()} defines no function or class {name}; the chapter has it as an exercise.")


def solved(module: Path) -> str:
    """The text of a reference module without what refuses bad input."""
    return Cutter(Text(module.read_text(encoding="utf-8")), CHECKS_INPUT).whole()
