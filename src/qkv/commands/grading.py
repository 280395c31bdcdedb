"""`qkv grade` and `qkv export`: the course's exercises, handed to the engine that knows how to grade a class."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from proctor.collecting import listing
from proctor.collecting.collect import Collected
from proctor.grading.engines.local import Local
from proctor.grading.folder_lock import locked
from proctor.grading.grade import Engine, Outcome, grade_class, salt_of
from proctor.grading.worker import Plan
from proctor.marking.submissions import joined_names
from proctor.points.scheme import Scheme
from proctor.report import lms
from proctor.sandbox import Fault, Limits, Refused, choose
from proctor.tables import BadTable, key
from qkv.assignments import assignment
from qkv.commands.collecting import collect_class, os_error_text
from qkv.commands.scheme import POLICY, TIMES, in_groups, keep_copies, policy_beside, read_scheme

ROSTER = "roster.csv"  # in the folder of results, where grading leaves it for the export


def grade_submissions(
    submissions: Path,
    out: Path,
    *,
    jobs: int | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    timeout: float = Limits.seconds,
    memory: int = Limits.memory_mb,
    exercises: Sequence[str] | None = None,
    seed: int | None = None,
    resume: bool = True,
    roster: Path | None = None,
    form: str | None = None,
    policy: Path | None = None,
    times: Path | None = None,
    trust_submissions: bool = False,
) -> int:
    """Grade a class; the exit code is 1 if something could not be graded.

    Raises:
        click.UsageError: the class cannot be read, or results cannot be written where they should go.
    """
    who = roster_of(roster)
    if out.resolve() == submissions.resolve():
        raise click.UsageError(f"Results cannot go into {submissions} itself: name another folder with --out.")
    policy = policy or policy_beside(submissions)
    read_scheme(out, policy, times)  # what is wrong with their files is told before anything is done
    make_writable(out)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(out))  # before anything of it is changed
        except Fault as error:
            click.echo(f"Not graded: {error}", err=True)
            return 1
        collected = collect_class(submissions, out, stack, who, form, say)
        found = collected.submissions.submissions
        if not found:
            text = f"There is no submission in {submissions}: it should hold one folder or file per student."
            click.echo(text, err=True)
            return 1
        try:
            keep_copies(out, {ROSTER: roster, POLICY: policy, TIMES: times})
            listing.write_listing(out / listing.NAME, collected)
            collected = in_groups(collected, read_scheme(out), say)
            listing.write_listing(out / listing.NAME, collected)  # with the groups: their upload's time is theirs
        except OSError as error:
            click.echo(f"Not graded: {os_error_text(error)}. Nothing was marked yet.", err=True)
            return 1
        scheme = read_scheme(out)
        found = collected.submissions.submissions
        names = [submission.student for submission in found]
        for sentence in [*who_is_missing(names, who, scheme), *late_without_a_time(collected, scheme)]:
            say(sentence)
        chosen = tuple(exercises) if exercises else None
        limits = Limits(seconds=timeout, memory_mb=memory)
        plan = Plan(assignment, (chosen,), salt_of(seed), limits, trust=trust_submissions, locate=True)
        try:
            if engine == "local":
                click.echo(f"Sandbox: {choose(trust=trust_submissions)}", err=True)
            with ended_as_by_ctrl_c():
                outcome = grade_class(
                    found,
                    out,
                    plan,
                    engine_named(engine, jobs, scheduler),
                    seed=seed,
                    resume=resume,
                    scheme=scheme,
                    say=say,
                    lock=False,
                )
        except (Refused, Fault) as error:
            click.echo(f"Not graded: {error}", err=True)
            return 1
        except OSError as error:
            kept = f"What is marked so far is kept in {out}: the same command goes on from there."
            click.echo(f"Not finished: {os_error_text(error)}. {kept}", err=True)
            return 1
        except KeyboardInterrupt:
            click.echo("\nInterrupted. The same command goes on from here.", err=True)
            return 1
    return report_outcome(outcome, out)


def late_without_a_time(collected: Collected, scheme: Scheme) -> list[str]:
    """A sentence on students whom the LMS calls late without saying by how much."""
    late = [student.who.folder for student in collected.students if student.late]
    unknown = [student for student in late if key(student) not in scheme.times]
    if not unknown or not scheme.policy.due:
        return []
    return [f"Late, as the LMS says, and not by how much, so nothing is taken off: {joined_names(unknown, lms.MOST)}."]


def who_is_missing(students: list[str], who: lms.Roster | None, scheme: Scheme) -> list[str]:
    """Sentences on students that somebody names and the class has not, and the other way round."""
    others = list(dict.fromkeys(correction.folder for correction in scheme.corrections.of_others(students)))
    said = [f"{one} If they are one student, {lms.ONE_FOLDER}." for one in lms.spelled_twice(students)]
    said += lms.not_applied(others)
    if absent := sorted(scheme.policy.students - set(map(key, students))):
        said.append(f"In {POLICY}, but without a submission: {joined_names(absent, lms.MOST)}.")
    if who is None:
        return said
    unknown = [student for student in students if who.find(student) is None]
    return lms.differences(unknown, [person.folder for person in who.absent(students)]) + said


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Let a closed terminal, `timeout` or a shutdown end a run in order, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    here = threading.current_thread() is threading.main_thread()  # only there signals can be handled
    before = {number: signal.signal(number, interrupt) for number in signals} if here else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def engine_named(engine: str, jobs: int | None, scheduler: str | None) -> Engine:
    if engine == "local":
        return Local(jobs)
    try:
        from proctor.grading.engines.cluster import Cluster
    except ImportError:
        raise click.UsageError("--engine dask needs an extra package: pip install 'qkv-course[cluster]'") from None
    return Cluster(scheduler, jobs, say)


def say(text: str) -> None:
    """Print a line for the instructor, also while a progress bar is shown."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stderr)


def report_outcome(outcome: Outcome, out: Path) -> int:
    """Print the outcome and where to look; returns the exit code."""
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


def export_class(
    directory: Path,
    kind: str,
    out: Path,
    roster: Path | None = None,
    policy: Path | None = None,
    times: Path | None = None,
) -> int:
    """Write the results in `directory` in the form that an LMS imports.

    Raises:
        click.UsageError: the roster or the policy is not valid, or the file cannot be written there.
    """
    who = known_roster(directory, roster)
    if out.is_file() or not out.exists():
        make_writable(out.parent, out)
    scheme = read_scheme(directory, policy, times)
    try:
        remarks = lms.export_results(directory, kind, out, {}, program="qkv", roster=who, scheme=scheme)
    except lms.CannotExport as error:
        click.echo(f"Not exported: {error}", err=True)
        return 1
    except OSError as error:
        click.echo(f"Not exported to {out}: {os_error_text(error)}.", err=True)
        return 1
    for remark in remarks:
        say(remark)
    click.echo(f"Wrote {out}")
    return 0


# ---- what files are like


def known_roster(results: Path, roster: Path | None) -> lms.Roster | None:
    """Who is who: as this roster says, or the one that grading was given, or as the download itself told."""
    remembered = results / ROSTER
    if roster is not None or remembered.exists():
        return roster_of(roster or remembered)
    try:
        return listing.roster_of_listing(listing.read_listing(results / listing.NAME))
    except BadTable as error:
        raise click.UsageError(str(error)) from None


def roster_of(path: Path | None) -> lms.Roster | None:
    try:
        return None if path is None else lms.read_roster(path)
    except lms.BadRoster as error:
        text = str(error)
        raise click.UsageError(text[:1].upper() + text[1:]) from None


def make_writable(folder: Path, wanted: Path | None = None) -> None:
    """Make a folder, and make sure that files can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise click.UsageError(
            f"{wanted or folder} cannot be written ({error.strerror}). Name another place with --out."
        ) from None
