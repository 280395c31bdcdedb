"""Grade a class: an engine marks every submission, the journal notes it, and reports are written when all are done."""

from __future__ import annotations

import gc
import json
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from proctor.assignment import Assignment
from proctor.diagnose import Examiner
from proctor.journal import Journal, Marked, keep_earlier
from proctor.marking import Marker, examiners_of, sandbox_for
from proctor.report.gradebook import write_reports
from proctor.report.tally import Tally
from proctor.result import Explanation, Result
from proctor.sandbox import Limits, Sandbox
from proctor.sandbox.compiler import leave_out
from proctor.sandbox.meta import prefer_kernels
from proctor.submissions import File, Submission, digest


@dataclass(frozen=True)
class Plan:
    """All that a worker needs to mark, wherever it is.

    Args:
        make: gives the assignment when it is called with `arguments`; other processes find it by its import path.
        salt: enters every input. It is secret: whoever knows it can prepare answers.
        limits: of one sitting.
        tier: of the sandbox.
        trust: allow running without a sandbox.
    """

    make: Callable[..., Assignment]
    arguments: tuple[Any, ...]
    salt: str
    limits: Limits
    tier: str = "auto"
    trust: bool = False

    def assignment(self) -> Assignment:
        return self.make(*self.arguments)


Engine = Callable[[Plan, Iterable[Submission]], Iterator[Marked]]  # gives them back in any order


@lru_cache(maxsize=1)
def prepared(plan: Plan) -> tuple[Assignment, dict[str, Examiner]]:
    """The assignment and its examiners, once per process. Workers that are forked from this one inherit them."""
    import torch

    torch.set_num_threads(1)  # a pool of threads would not survive a fork, and the tensors are small
    leave_out()  # both as in the sandbox: errors are to have the same words here and there
    prefer_kernels()
    assignment = plan.assignment()
    examiners = examiners_of(assignment, plan.salt)
    for examiner in examiners.values():
        examiner.draws  # noqa: B018 - runs the reference
    gc.freeze()  # a collection that looked at all this would make a copy of it in every worker
    return assignment, examiners


_markers: dict[Plan, tuple[Marker, Sandbox]] = {}  # one at most: a process has one sandbox


def marker(plan: Plan) -> Marker:
    """The marker of this process, with its sandbox running."""
    if plan not in _markers:
        rest()
        assignment, examiners = prepared(plan)
        box = sandbox_for(assignment, examiners, plan.limits, plan.tier, plan.trust)
        box.start()
        _markers[plan] = Marker(assignment, examiners, box), box
    return _markers[plan][0]


def rest() -> None:
    """Close the sandbox of this process."""
    while _markers:
        _markers.popitem()[1][1].close()


def mark(plan: Plan, student: str, files: list[File]) -> Marked:
    """Mark one student's submission in this process. A failure of ours is reported as such, and costs nobody else."""
    try:
        results, notes, code = marker(plan).mark(files)
    except Exception as error:
        return fault(plan, student, files, f"The grader itself failed ({type(error).__name__}: {error}).")
    return Marked(student, digest(files), tuple(results), tuple(notes), code)


def fault(plan: Plan, student: str, files: list[File], sentence: str) -> Marked:
    """A submission that could not be marked."""
    why = Explanation(f"{sentence} This is our fault, not yours.")
    found = plan.assignment().exercises
    results = (Result(e.name, "fault", 0.0, 0, len(e.probes), explanations=(why,)) for e in found)
    return Marked(student, digest(files), tuple(results))


@dataclass
class Outcome:
    """How a run ended: who was marked now and who before, the class in numbers, where earlier results went."""

    marked: int
    resumed: int
    tally: Tally
    earlier: Path | None


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
    say: Callable[[str], None] = print,
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
        say: takes what an instructor should know.
    """
    out.mkdir(parents=True, exist_ok=True)
    journal, plan, earlier = open_journal(out, plan, seed, resume, say)
    done = {s.student for s in submissions if (known := journal.digest(s.student)) and known == digest(s.load())}
    todo = [s for s in submissions if s.student not in done]
    if done:
        say(f"Going on with a run that was interrupted: {len(done)} of {len(submissions)} submissions are marked.")
    for marked in with_progress(engine(plan, todo), len(todo)):
        journal.add(marked)
    students = [submission.student for submission in submissions]
    tally = write_reports(out, plan.assignment(), journal.read(students))
    journal.finish()
    return Outcome(len(todo), len(done), tally, earlier)


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
    before = journal.unfinished()
    if before is not None:
        salt = before.pop("salt", "")
        if resume and before == settings:
            journal.resume()
            return journal, replace(plan, salt=salt), None
        if resume:
            say("An interrupted run had other settings: everything is marked again.")
    earlier = keep_earlier(out)
    journal.begin()
    return journal, plan, earlier


def version_of(assignment: Assignment) -> str:
    """Changes when a reference, a probe or a mistake changes."""
    functions = [probe.function for exercise in assignment.exercises for probe in exercise.probes.values()]
    files = sorted({getattr(sys.modules.get(f.__module__), "__file__", None) or "" for f in functions})
    texts = [sheet.source for sheet in assignment.sheets] + [Path(file).read_text("utf-8") for file in files if file]
    return sha256("\0".join(texts).encode()).hexdigest()


def with_progress(marked: Iterator[Marked], total: int) -> Iterator[Marked]:
    """A bar with rate and time left."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be there when workers are forked
    interval = 0.1 if sys.stderr.isatty() else 15.0
    yield from tqdm(marked, total=total, desc="Marking", unit=" submissions", mininterval=interval, disable=not total)
