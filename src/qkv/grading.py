"""`qkv grade` and `qkv export`: the course's exercises, handed to the engine that knows how to grade a class.

While a chapter is sat, a submission may import the parts that earlier chapters built, and nothing of its own or of
later chapters.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from proctor.assignment import Assignment, Sheet
from proctor.engines.local import Local
from proctor.grade import Engine, Outcome, Plan, grade_class, salt_of
from proctor.report import lms
from proctor.sandbox import Fault, Limits, Refused, choose
from proctor.submissions import collect
from qkv import exercises, model

TITLE = "QKV"
HELPS = ("expect",)  # modules of qkv.model that are no chapter, but that chapters import
SETUP = """\
import math
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""


def assignment(chosen: tuple[str, ...] | None = None) -> Assignment:
    """The course, or some exercises of it, as something that can be graded."""
    texts = {f"qkv.model.{name}": source_of(name) for name in HELPS}
    earlier: dict[str, str] = {}
    sheets = []
    for stem, found in exercises.chapters().items():
        graded = tuple(e for e in found if chosen is None or e.name in chosen)
        names = tuple(e.name for e in found)
        module, source = f"qkv.model.{stem}", source_of(stem)
        if graded:
            sheets.append(Sheet(title_of(stem), graded, names, module, source, dict(texts), dict(earlier)))
        texts[module] = source
        earlier |= dict.fromkeys(names, module)
    return Assignment(TITLE, tuple(sheets), SETUP)


def source_of(stem: str) -> str:
    return Path(model.__path__[0], f"{stem}.py").read_text("utf-8")


def title_of(stem: str) -> str:
    """`Chapter 01: lookup`; the number is in the first words of its exercises' file."""
    documented = sys.modules[f"qkv.exercises.{stem}"].__doc__ or ""
    number = documented.partition(":")[0].strip()
    return f"{number}: {stem}" if number.startswith("Chapter") else stem


def grade(
    submissions: Path,
    out: Path,
    *,
    jobs: int | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    timeout: float = 30.0,
    memory: int = 2048,
    exercises: Sequence[str] | None = None,
    seed: int | None = None,
    resume: bool = True,
    trust_submissions: bool = False,
) -> int:
    """Grade a class; the exit code is 1 if something could not be graded."""
    found = collect(submissions, but=out)
    for name in found.ignored:
        click.echo(f"Ignored: {name}", err=True)
    if not found.submissions:
        click.echo(f"There is no submission in {submissions}: it should hold one folder or file per student.", err=True)
        return 1
    chosen = tuple(exercises) if exercises else None
    plan = Plan(
        assignment, (chosen,), salt_of(seed), Limits(seconds=timeout, memory_mb=memory), trust=trust_submissions
    )
    try:
        if engine == "local":
            click.echo(f"Sandbox: {choose(trust=trust_submissions)}", err=True)
        outcome = grade_class(
            found.submissions, out, plan, engine_named(engine, jobs, scheduler), seed=seed, resume=resume, say=say
        )
    except (Refused, Fault) as error:
        click.echo(f"Not graded: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        click.echo("\nInterrupted. The same command goes on from here.", err=True)
        return 1
    return report(outcome, out)


def engine_named(engine: str, jobs: int | None, scheduler: str | None) -> Engine:
    if engine == "local":
        return Local(jobs)
    try:
        from proctor.engines.cluster import Cluster
    except ImportError:
        raise click.UsageError("--engine dask needs an extra package: pip install 'qkv-course[cluster]'") from None
    return Cluster(scheduler, jobs)


def say(text: str) -> None:
    click.echo(text, err=True)


def report(outcome: Outcome, out: Path) -> int:
    """Say what was done and where to look; the exit code."""
    tally = outcome.tally
    students = len(tally.standings)
    states = tally.states()
    mean = sum(s.total for s in tally.standings) / max(students, 1)
    click.echo(
        f"{students} {'student' if students == 1 else 'students'}, {mean:.4g} of {tally.points:g} points on average."
    )
    for mistake in tally.mistakes()[:3]:
        click.echo(f"  {mistake.count} × {mistake.exercise}: {mistake.sentence}")
    if outcome.earlier is not None:
        click.echo(f"Earlier results: {outcome.earlier}")
    click.echo(f"Open {out / 'summary.html'}")
    if states["fault"]:
        click.echo(f"{states['fault']} answers could not be checked, by a fault of the grader.", err=True)
    return 1 if states["fault"] else 0


def export(directory: Path, kind: str, out: Path) -> int:
    """Write the results in `directory` in the form that an LMS imports."""
    points = {exercise.name: exercise.points for found in exercises.chapters().values() for exercise in found}
    lms.export(directory, kind, out, points, program="qkv")
    click.echo(f"Wrote {out}")
    return 0
