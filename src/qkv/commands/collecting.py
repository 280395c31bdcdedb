"""The first step of `qkv grade`: collect the class, and say what was recognised, who is who and what was left out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from proctor.collecting.collect import BadDownload, Collected
from proctor.collecting.collect import collect_class as collected_class
from proctor.collecting.upload import Who
from proctor.marking.submissions import joined_names
from proctor.report.lms.roster import Roster

UNPACKED = ".unpacked-"  # in the folder of results, with the number of the process
SHOWN = 20  # students, or sentences, that are printed


def collect_class(
    submissions: Path,
    out: Path,
    stack: ExitStack,
    roster: Roster | None,
    form: str | None,
    say: Callable[[str], None],
) -> Collected:
    """Collect a class; what a zip file held is there until the stack is left.

    Raises:
        click.UsageError: it cannot be read.
    """
    try:
        unpacked = stack.enter_context(unpacking_in(out)) if submissions.is_file() else out / UNPACKED
        collected = collected_class(submissions, unpacked, roster=roster, form=form, but=out)
    except BadDownload as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.UsageError(f"{submissions} cannot be read ({os_error_text(error)}).") from None
    for sentence in sentences(collected, out):
        say(sentence)
    return collected


def sentences(collected: Collected, out: Path) -> Iterator[str]:
    """What an instructor should know about a class that was collected."""
    if collected.form != "folders":
        count = len(collected.students)
        yield f"Recognised: {collected.title}, {count} {'student' if count == 1 else 'students'}."
        for student in collected.students[:SHOWN]:
            late = ", late" if student.late else ""
            at = f", {student.at:%Y-%m-%d %H:%M} UTC" if student.at else ""
            yield f"  {identity(student.who)}: {joined_names(list(student.files))}{at}{late}"
        if count > SHOWN:
            yield f"  and {count - SHOWN} more: {out / 'collected.csv'}"
    yield from shortened(collected.remarks)
    yield from shortened(collected.older)
    yield from (f"Ignored: {name}" for name in collected.submissions.ignored)
    if collected.unclear:
        yield f"Not graded, since it is not clear whose it is: {joined_names(collected.unclear, SHOWN)}."
        yield "A roster with such a name in its column folder settles it."


def shortened(lines: list[str]) -> list[str]:
    more = [f"And {len(lines) - SHOWN} more such cases."] if len(lines) > SHOWN else []
    return lines[:SHOWN] + more


def identity(who: Who) -> str:
    """A student as results call them, and what else is known: `1041 (Anna Ahl, anna@example.org)`."""
    known = [text for text in (who.name, who.id, who.login, who.email) if text and text != who.folder]
    return f"{who.folder} ({', '.join(known)})" if known else who.folder


@contextmanager
def unpacking_in(out: Path) -> Iterator[Path]:
    """A new folder in the results that nobody else reads; it is gone afterwards, and so are those of killed runs."""
    out.mkdir(parents=True, exist_ok=True)
    for left in out.glob(f"{UNPACKED}*"):
        if not alive(left.name.removeprefix(UNPACKED)):
            shutil.rmtree(left, ignore_errors=True)
    place = out / f"{UNPACKED}{os.getpid()}"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def alive(number: str) -> bool:
    """Does a process of this number exist?"""
    try:
        os.kill(int(number), 0)
    except (ValueError, OverflowError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def os_error_text(error: OSError) -> str:
    """The system's message for an OSError, with its file."""
    about = f": {error.filename}" if error.filename is not None else ""
    return f"{error.strerror or error}{about}"
