"""Grade a class: an engine marks every submission, the journal notes it, and reports are written when all are done."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path

from proctor.grading.folder_lock import locked
from proctor.grading.journal import GradedSubmission, Journal, archive_previous
from proctor.grading.worker import Plan
from proctor.marking.assignment import Assignment
from proctor.marking.submissions import Submission, digest
from proctor.points.scheme import Scheme
from proctor.report.tally import Tally
from proctor.report.write import write_reports

Engine = Callable[[Plan, Iterable[Submission]], Iterator[GradedSubmission]]  # gives them back in any order


@dataclass
class Outcome:
    """The outcome of a run: students marked now and before, the class in numbers, the place of earlier results."""

    marked: int  # number of students marked in this run
    resumed: int  # number of students marked in an earlier, unfinished run
    tally: Tally  # the class in numbers
    earlier: Path | None  # folder that the results of a finished run were moved to


def salt_of(seed: int | None) -> str:
    """The salt for a seed; a new secret one without."""
    return secrets.token_hex(16) if seed is None else sha256(f"seed {seed}".encode()).hexdigest()


def grade_class(
    submissions: list[Submission],
    out: Path,
    plan: Plan,
    engine: Engine,
    *,
    seed: int | None = None,
    resume: bool = True,
    scheme: Scheme | None = None,
    say: Callable[[str], None] = print,
    lock: bool = True,
) -> Outcome:
    """Mark every submission and write all reports.

    Args:
        submissions: the class.
        out: where reports go. An unfinished run with the same settings is continued; results of a finished one are
            kept in `earlier`.
        plan: how to mark. A run that is continued keeps the salt it began with.
        engine: where to mark.
        seed: what the plan's salt was made from, if anything.
        resume: whether an unfinished run may be continued.
        scheme: from scores to points.
        say: takes what an instructor should know.
        lock: take the lock on `out`; a caller who holds it already does not want that.

    Raises:
        Fault: another grader is writing into `out`.
    """
    out.mkdir(parents=True, exist_ok=True)
    with locked(out) if lock else nullcontext():
        return _grade_class(submissions, out, plan, engine, seed, resume, scheme, say)


def _grade_class(
    submissions: list[Submission],
    out: Path,
    plan: Plan,
    engine: Engine,
    seed: int | None,
    resume: bool,
    scheme: Scheme | None,
    say: Callable[[str], None],
) -> Outcome:
    journal, plan, earlier = open_journal(out, plan, seed, resume, say)
    done = {s.student for s in submissions if (known := journal.digest(s.student)) and is_as_noted(s, known)}
    todo = [s for s in submissions if s.student not in done]
    if done:
        say(f"Going on with a run that was interrupted: {len(done)} of {len(submissions)} submissions are marked.")
    for marked in with_progress(engine(plan, todo), len(todo)):
        journal.add(marked)
    students = [submission.student for submission in submissions]
    tally = write_reports(out, plan.assignment(), journal.read(students), scheme)
    journal.finish()
    return Outcome(len(todo), len(done), tally, earlier)


def is_as_noted(submission: Submission, known: str) -> bool:
    """Is a submission still what was marked? One that cannot be read is marked again: a worker says what is wrong."""
    try:
        return digest(submission.load()) == known
    except Exception:
        return False


def open_journal(
    out: Path, plan: Plan, seed: int | None, resume: bool, say: Callable[[str], None]
) -> tuple[Journal, Plan, Path | None]:
    """The journal of an unfinished run that fits, or a new one; the plan with its salt; where earlier results went."""
    settings = {
        "seed": seed,
        "arguments": json.loads(json.dumps(plan.arguments)),
        "limits": asdict(plan.limits),
        "exercises": version_of(plan.assignment()),
    }
    journal = Journal(out, settings | {"salt": plan.salt})
    before = journal.unfinished_settings()
    if before is not None:
        salt = before.pop("salt", "")
        if resume and before == settings:
            journal.resume()
            return journal, replace(plan, salt=salt), None
        if resume:
            say("An interrupted run had other settings: everything is marked again.")
    earlier = archive_previous(out)
    journal.begin()
    return journal, plan, earlier


def version_of(assignment: Assignment) -> str:
    """Changes when a reference, a probe, a measure or a mistake changes."""
    functions = [function for exercise in assignment.exercises for function in exercise.functions()]
    files = sorted({getattr(sys.modules.get(f.__module__), "__file__", None) or "" for f in functions})
    texts = [sheet.source for sheet in assignment.sheets] + [Path(file).read_text("utf-8") for file in files if file]
    return sha256("\0".join(texts).encode()).hexdigest()


def with_progress(marked: Iterator[GradedSubmission], total: int) -> Iterator[GradedSubmission]:
    """A bar with rate and time left."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be there when workers are forked
    interval = 0.1 if sys.stderr.isatty() else 15.0
    yield from tqdm(marked, total=total, desc="Marking", unit=" submissions", mininterval=interval, disable=not total)
