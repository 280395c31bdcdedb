"""Verdicts under a second set of seeds: a verdict that depends on its seeds does not count.

`qkv build --second-seeds` runs a chapter with `QKV_SEEDS=1` (`qkv.notebook.machine`) and keeps what the cells of its
claims print in `solutions/second_seeds.json`. Then the claims' `# assert:` lines are held against that, whenever
editions are checked; so a new margin needs no new run, and new code does.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat

from qkv.authoring.build.claims import Claim
from qkv.authoring.build.printed import Printed
from qkv.authoring.build.run import execute
from qkv.course import Chapter, Course


def stored_in(course: Course) -> Path:
    return course.root / "solutions" / "second_seeds.json"


def run_again(course: Course, chapter: Chapter, force: bool, say: Callable[[str], None]) -> None:
    """Run a solved edition with the second set of seeds, unless what is stored is of the same code."""
    solved = nbformat.read(chapter.solved, as_version=4)
    measures = solved.metadata["qkv"]["measures"]
    path = stored_in(course)
    name = path.relative_to(course.root).as_posix()
    if not any(_claims(solved)) or (not force and _stored(course).get(chapter.stem, {}).get("measures") == measures):
        say(f"  fresh    {name}: {chapter.stem}")
        return
    started = time.monotonic()
    again = copy.deepcopy(solved)
    execute(again, chapter, QKV_SEEDS="1")
    printed = {claim.id: shown.text.splitlines() for claim, shown in _claims(again)}
    everything = _stored(course) | {chapter.stem: {"measures": measures, "printed": printed}}
    text = json.dumps(dict(sorted(everything.items())), ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    say(f"  written  {name}: {chapter.stem}, run in {time.monotonic() - started:.0f} s")


def contradictions(course: Course, chapter: Chapter) -> list[str]:
    """Claims of a chapter without a second verdict, or with another than the book's; one sentence each."""
    try:
        solved = nbformat.read(chapter.solved, as_version=4)
    except Exception:  # an edition that is missing or broken is reported as stale
        return []
    refresh = f"qkv build --second-seeds {chapter.stem}"
    stored = _stored(course).get(chapter.stem, {})
    found = []
    for claim, _ in _claims(solved):
        if claim.id not in stored.get("printed", {}):
            found.append(f"claim {claim.id} has no verdict under the second seeds. Run: {refresh}")
        elif stored.get("measures") != solved.metadata["qkv"].get("measures"):
            found.append(f"claim {claim.id} had its second verdict with other code than today's. Run: {refresh}")
        else:
            try:
                why = claim.contradiction(Printed("\n".join(stored["printed"][claim.id])))
            except ValueError as error:
                why = f"claim {claim.id}: {error}"
            if why:
                found.append(f"under the second seeds, {why}")
    return found


def _claims(notebook: nbformat.NotebookNode) -> Iterator[tuple[Claim, Printed]]:
    """The claims of a solved edition that assert something, and what their cells have printed."""
    for cell in notebook.cells:
        printed = Printed.by(cell.get("outputs", ()))
        for name, asserted in cell.metadata.get("asserts", {}).items():
            yield Claim(name, asserted=tuple(asserted)), printed


def _stored(course: Course) -> dict[str, Any]:
    path = stored_in(course)
    stored: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return stored
