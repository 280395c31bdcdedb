"""`qkv hand-in`: the check that the grader will make, and one file for the LMS."""

from __future__ import annotations

import secrets
import zipfile
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from proctor import Examiner, WeightsJudge
from proctor.marking.answers import Answers
from proctor.marking.extraction import Source, extract, extract_all
from proctor.marking.submissions import WEIGHTS, File, read_submitted_file
from proctor.marking.weights_files import answers_exercise, judge_weights
from proctor.report import terminal
from qkv import exercises
from qkv.notebook.checking import counts_by_state, judged_in_process, unreported
from qkv.notebook.review import is_review
from qkv.notebook.workspace import Workspace

Say = Callable[[str], None]


def write_hand_in(paths: Sequence[Path], out: Path | None = None, say: Say = print) -> int:
    """Check some files together on new inputs, as a graded run does, and put them into one archive.

    The archive is written whatever the check says: to hand in unfinished work is the student's decision.

    Args:
        out: the archive; `hand-in-DATE.zip` in the current folder by default.

    Returns:
        the exit code: 0 if all that was begun passes, 1 if not, or if there is nothing to hand in.
    """
    files = {path: read_submitted_file(path.name, path) for path in paths}
    written = {path: file for path, file in files.items() if file.suffix != WEIGHTS}
    sources = extract_all(written.values())
    answers = Answers(sources)
    problems = answers.problems
    begun = [n for n in exercises.of_code() if is_begun(answers, n) or any(p.mentions(n) for p in problems)]
    chosen = [path for path, source in zip(written, sources, strict=True) if has_work(source, begun)]
    weights = {path: file for path, file in files.items() if asked_for(file)}
    chosen += weights
    if not chosen:
        say("There is nothing to hand in yet: no file has an answer to an exercise.")
        return 1
    salt = secrets.token_hex(8)  # fresh inputs, so that what passes here passes there
    results = judged_in_process(answers, begun, {n: Examiner(exercises.get_code(n), salt) for n in begun})
    asked = map(exercises.get_weights, exercises.of_weights())
    weights_results = [judge_weights(WeightsJudge(exercise, salt), list(weights.values())) for exercise in asked]
    results += [result for result in weights_results if result.state != "not_started"]
    for sentence in unreported(problems, results):
        say(sentence)
    for result in results:
        say(terminal.terminal_text(result, colour=terminal.takes_colour()) + ("" if result.state == "passed" else "\n"))
    say(f"On fresh inputs, as they are graded: {counts_by_state(results)}.")
    archive = out or Path(f"hand-in-{date.today()}.zip")
    write_archive(archive, chosen)
    names = ", ".join(path.name for path in chosen)
    say(f"Wrote {archive} with {names}. Hand in this one file.")
    return 0 if not problems and all(result.state == "passed" for result in results) else 1


def answers_beside(place: Workspace, known: Sequence[Path], here: Path | None = None) -> list[Path]:
    """The .py files of the current folder that hold answers, as `qkv stub` makes them; none outside of the workspace,
    and none that `qkv review` made."""
    here = (here or Path.cwd()).resolve()
    if place.root not in (here, *here.parents):
        return []
    names = {path.name for path in known}
    files = [path for path in sorted(here.glob("*.py")) if path.name not in names and not is_review(path)]
    return [path for path in files if has_answer(path)]


def has_answer(path: Path) -> bool:
    """Does a file define an exercise, and more than its stub?"""
    answers = Answers([extract(read_submitted_file(path.name, path))])
    return any(is_begun(answers, name) for name in exercises.of_code())


def asked_for(file: File) -> bool:
    """Is this a file of weights that an exercise asks for?"""
    return any(answers_exercise(file.name, exercises.get_weights(name)) for name in exercises.of_weights())


def is_begun(answers: Answers, name: str) -> bool:
    """Does a file define this exercise, and more than its stub?"""
    file = answers.file_index(name)
    if file is None or not answers.makes(file, name):
        return False
    return not all(d.is_stub or d.is_import for d in answers.sources[file].definitions if name in d.binds)


def has_work(source: Source, begun: Sequence[str]) -> bool:
    """Does this file have an answer, code that an answer may import, or something that could not be read?"""
    bound = {name for d in source.definitions if not d.is_import and not d.is_stub for name in d.binds}
    return bool(bound & set(begun)) or source.name.endswith(".py") or bool(source.problems)


def write_archive(archive: Path, files: Sequence[Path]) -> None:
    """Write all files side by side into one archive, atomically."""
    draft = archive.with_name(f".{archive.name}.draft")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as made:
        for path in files:
            made.write(path, path.name)
    draft.replace(archive)
