"""`qkv build`: write the editions of each chapter, run what changed, say what is stale."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import nbformat

from qkv.authoring.build.chapter import Code, Part, Task, read_chapter
from qkv.authoring.build.editions import solved_edition, student_edition
from qkv.authoring.build.fingerprint import meaning_of_cells, of_measures, of_outputs
from qkv.authoring.build.prose_numbers import unread, with_numbers
from qkv.authoring.build.run import made_here, run_solved_edition, tidy_outputs
from qkv.authoring.build.second_seeds import contradictions, run_again
from qkv.authoring.publish.ledger import measured_claims
from qkv.authoring.publish.shorten_alts import shorten_alt
from qkv.authoring.write.new import MARK
from qkv.course import NAME, PACKED, AuthoringError, Chapter, Course, Facts, packed

COLUMN = 87  # characters of code in the book's column of 688 pixels


def build_editions(
    stems: Iterable[str] | None = None,
    check: bool = False,
    force: bool = False,
    second_seeds: bool = False,
    course: Course | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Write the student and the solved edition of each chapter; a chapter is run only if its code changed.

    Args:
        stems: chapters to build (`lookup`, `01_lookup` or `1`); all of them by default.
        check: write nothing, say what is stale and how to refresh it.
        force: run every chapter again, changed or not.
        second_seeds: run the chapters whose code changed with a second set of seeds as well, and store what they print.
        course: the tree to work in; this one by default.
        say: takes the lines of the report.

    Returns:
        0; or 1 when something is stale (with `check`) or cannot be built.
    """
    try:
        course = course or Course.here()
        chapters = course.chapters(stems)
    except AuthoringError as error:
        say(str(error))
        return 1
    troubles = doubts = 0
    concerned = []
    for chapter in chapters:
        before = troubles
        try:
            troubles += _build(chapter, course, check, force, say)
            if second_seeds:
                run_again(course, chapter, force, say)
            if check or second_seeds:
                doubts += _second_verdicts(course, chapter, say)
        except AuthoringError as error:
            say(f"  failed   {error}")
            troubles += 1
        concerned += [chapter.stem] if troubles > before else []
    troubles += _pack(course, check, say)
    if stems is None:
        troubles += _without_source(course, say)
    if check:
        say(
            f"stale: {troubles}. Refresh with: {' '.join(['qkv build', *concerned])}"
            if troubles
            else f"{len(chapters)} chapters: all editions are fresh."
        )
    if doubts:
        say(f"claims that do not stand under a second set of seeds, or were not asked: {doubts}.")
    return 1 if troubles or doubts else 0


def _build(chapter: Chapter, course: Course, check: bool, force: bool, say: Callable[[str], None]) -> int:
    parts = read_chapter(chapter, course)
    solved = solved_edition(course, chapter, parts)
    solved.metadata["qkv"] = {
        "inputs": of_outputs(chapter, solved, [part.facts.card for part in parts if isinstance(part, Task)]),
        "measures": of_measures(chapter, solved),
        "exercises": _facts(parts),
    }
    stored = _stored(chapter.solved)
    must_run = force or stored is None or not _same_run(solved, stored)
    if check and must_run:
        why = "is missing" if stored is None else "was run with other code than today's"
        say(f"  stale    {_name(chapter.solved, chapter)} {why}")
        return 1
    seconds = None
    if stored is not None and not must_run:
        carry_outputs(stored, solved)
        solved.metadata["qkv"]["made"] = stored.metadata["qkv"]["made"]
    else:
        started = time.monotonic()
        run_solved_edition(solved, chapter)
        solved.metadata["qkv"]["made"] = made_here()
        seconds = time.monotonic() - started
    ran = solved
    try:
        filled = with_numbers(chapter, parts, ran)
    except AuthoringError:
        if seconds is not None:  # the run is not lost for a slip of the pen
            _write(chapter.solved, ran, chapter, say, seconds)
        raise
    student, solved = student_edition(course, chapter, filled), solved_edition(course, chapter, filled)
    carry_outputs(ran, solved)
    solved.metadata["qkv"] = ran.metadata["qkv"]
    editions = {chapter.student: student, chapter.solved: solved}
    if check:
        stale = [path for path, edition in editions.items() if not _is(path, edition)]
        for path in stale:
            say(f"  stale    {_name(path, chapter)} differs from what its source gives")
        return len(stale)
    if not _is(chapter.student, student):
        _keep_work(chapter, say)
    _write(chapter.student, student, chapter, say)
    _write(chapter.solved, solved, chapter, say, seconds)
    measured_claims(chapter, parts, solved)  # a claim without its printed number fails now, not when the book is built
    for note in [*too_wide(parts, solved), *without_evidence(parts)]:
        say(f"  note     {chapter.where()}: {note}")
    for line in scaffold_left(chapter):
        say(f"  note     {line}")
    return 0


def scaffold_left(chapter: Chapter) -> list[str]:
    """Text of `qkv new` that still stands in a chapter for its author to replace."""
    lines = chapter.source.read_text(encoding="utf-8").splitlines()
    left = [number for number, line in enumerate(lines, start=1) if MARK in line]
    if not left:
        return []
    return [f"{chapter.where(left[0])}: {len(left)} lines of the chapter still say {MARK}; this is the first"]


def _second_verdicts(course: Course, chapter: Chapter, say: Callable[[str], None]) -> int:
    found = contradictions(course, chapter)
    for why in found:
        say(f"  claim    {chapter.where()}: {why}")
    return len(found)


def too_wide(parts: list[Part], solved: nbformat.NotebookNode) -> list[str]:
    """Lines that the page cannot show whole: code scrolls, what it prints is wrapped."""
    code = [
        part.line
        for part in parts
        if isinstance(part, Code)
        for line in shorten_alt(part.source).splitlines()
        if len(line) > COLUMN
    ]
    printed = [
        line
        for cell in _code(solved)
        for output in cell.outputs
        if set(output.get("data", {})) <= {"text/plain"}  # what has a richer form is shown in that
        for line in (output.get("text") or output.get("data", {}).get("text/plain", "")).splitlines()
        if len(line) > COLUMN
    ]
    notes = (
        [f"{len(code)} lines of code are wider than the page ({COLUMN}), first in the cell at {code[0]}"]
        if code
        else []
    )
    return notes + ([f"printed lines are wider than the page ({COLUMN}): {printed[0]!r}"] if printed else [])


def without_evidence(parts: list[Part]) -> list[str]:
    """Claims that name nothing that could have overturned them, and numbers in prose that no output has."""
    claims = [claim.id for part in parts if isinstance(part, Code) for claim in part.claims if claim.needs_control]
    numbers = [f"{number} (line {line})" for line, number in unread(parts)]
    notes = [f"claims without a line `# control: …` that reads a number: {', '.join(claims)}"] if claims else []
    return notes + ([f"numbers in prose that come from no cell: {', '.join(numbers)}"] if numbers else [])


def carry_outputs(stored: nbformat.NotebookNode, notebook: nbformat.NotebookNode) -> None:
    """Copy outputs from a stored run of the very same code cells."""
    tidy_outputs(stored)
    for old, new in zip(_code(stored), _code(notebook), strict=True):
        new.outputs, new.execution_count = old.outputs, old.execution_count


def _same_run(solved: nbformat.NotebookNode, stored: nbformat.NotebookNode) -> bool:
    before = stored.metadata.get("qkv", {})
    same_inputs = "made" in before and before.get("inputs") == solved.metadata["qkv"]["inputs"]
    return same_inputs and meaning_of_cells(stored) == meaning_of_cells(solved)


def _facts(parts: list[Part]) -> dict[str, dict[str, Any]]:
    """The facts that the page shows about each exercise, stored so that building a page needs no torch."""
    tasks = [part for part in parts if isinstance(part, Task)]
    return {task.name: _facts_json(task.facts) for task in tasks}


def _facts_json(facts: Facts) -> dict[str, Any]:
    stored: dict[str, Any] = {"points": facts.points, "forbidden": list(facts.forbidden)}
    stored |= {"effort": facts.effort} if facts.effort else {}
    return stored | ({"hand_in": facts.hand_in} if facts.hand_in else {})


def _code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _stored(path: Path) -> nbformat.NotebookNode | None:
    try:
        stored: nbformat.NotebookNode = nbformat.read(path, as_version=4)
        return stored
    except FileNotFoundError:
        return None
    except Exception:  # whatever is wrong with the file, it is made again
        return None


def _name(path: Path, chapter: Chapter) -> str:
    return path.relative_to(chapter.root).as_posix()


def _text(notebook: nbformat.NotebookNode) -> str:
    nbformat.validate(notebook)
    text: str = nbformat.writes(notebook)
    return text.rstrip("\n") + "\n"


def _is(path: Path, notebook: nbformat.NotebookNode) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == _text(notebook)


def _write(
    path: Path,
    notebook: nbformat.NotebookNode,
    chapter: Chapter,
    say: Callable[[str], None],
    seconds: float | None = None,
) -> None:
    name = _name(path, chapter)
    if _is(path, notebook):
        say(f"  fresh    {name}")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(notebook), encoding="utf-8", newline="\n")
    say(f"  written  {name}" + (f", run in {seconds:.0f} s" if seconds is not None else ""))


def _keep_work(chapter: Chapter, say: Callable[[str], None]) -> None:
    """Move a student edition with a student's work (cells that ran) aside before it is made again."""
    stored = _stored(chapter.student)
    if stored is None or not any(cell.execution_count or cell.outputs for cell in _code(stored)):
        return
    free = (chapter.student.with_name(f"{chapter.name}.mine-{n}.ipynb") for n in range(1, 1000))
    kept = next(path for path in free if not path.exists())
    chapter.student.rename(kept)
    name, mine = chapter.student.name, kept.relative_to(chapter.root).as_posix()
    say(f"  kept     {mine}: somebody has worked in {name}, which is made anew")


def _pack(course: Course, check: bool, say: Callable[[str], None]) -> int:
    """Write the list of chapters into the package, for installations without the book."""
    path = course.root / "src" / "qkv" / PACKED.name
    try:
        text = packed(course)
    except AuthoringError as error:
        say(f"  failed   {error}")
        return 1
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return 0
    name = path.relative_to(course.root).as_posix()
    if check:
        say(f"  stale    {name} differs from what _toc.yml and the chapters give")
        return 1
    path.write_text(text, encoding="utf-8", newline="\n")
    say(f"  written  {name}")
    return 0


def _without_source(course: Course, say: Callable[[str], None]) -> int:
    known = {chapter.name for chapter in course.on_disk()}
    lost = [
        path
        for folder in ("notebooks", "solutions")
        for path in sorted((course.root / folder).glob("*.ipynb"))
        if NAME.fullmatch(path.stem) and path.stem not in known
    ]
    for path in lost:
        say(f"  stale    {path.relative_to(course.root).as_posix()} has no chapter in book/chapters; delete it")
    return len(lost)
