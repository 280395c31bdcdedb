"""Sample answers under `answers`, as students would hand them in: right ones in unusual styles, wrong ones.

They prove the exercises: a right one passes, a wrong one never does, whatever the inputs drawn.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from proctor.source.statements import statements
from qkv import exercises

Kind = Literal["right", "wrong"]


@dataclass(frozen=True)
class SampleAnswer:
    """One answer to one exercise, in a file that may answer several."""

    path: Path
    exercise: str  # the name that it answers
    kind: Kind

    def __str__(self) -> str:
        return f"{self.path.parents[1].name}/{self.kind}/{self.path.stem}/{self.exercise}"

    @cached_property
    def implementation(self) -> Any:
        return runpy.run_path(str(self.path))[self.exercise]


def sample_answers(folder: Path, kind: Kind | None = None) -> Iterator[SampleAnswer]:
    """All answers below a folder `answers`, by chapter, kind and file."""
    for path in sorted(folder.glob(f"*/{kind or '*'}/*.py")):
        stem = path.parents[1].name
        known = exercises.names_of(stem) if stem in exercises.CHAPTERS else ()
        for name in defined_in(path):
            if name in known:
                yield SampleAnswer(path, name, "right" if path.parent.name == "right" else "wrong")


def sample_weights(folder: Path, exercise: str, kind: Kind) -> Iterator[Path]:
    """The weights for an exercise below a folder `answers`: `right/EXERCISE.safetensors`, and
    `wrong/EXERCISE-MISTAKE.safetensors`; more words may follow behind a hyphen."""
    yield from sorted(folder.glob(f"*/{kind}/{exercise}*.safetensors"))


@cache
def defined_in(path: Path) -> tuple[str, ...]:
    """The names that a file defines at its top level."""
    found = statements(path.read_text(encoding="utf-8"))
    return tuple(dict.fromkeys(name for one in found if not one.is_import for name in sorted(one.binds)))
