"""`qkv review-class`: the results of a class on one local page, for a person who corrects and comments."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from proctor.marking.submissions import Submission
from proctor.points import corrections
from proctor.review.desk import Desk
from proctor.review.groups import GradedClass, Read
from proctor.review.server import ReviewServer
from qkv.assignments import assignment
from qkv.commands.collecting import collect_class, os_error_text
from qkv.commands.grading import known_roster
from qkv.commands.ports import NotServing, first_free_port
from qkv.commands.scheme import Worth, read_scheme
from qkv.commands.start import has_screen, stop_signals

DEFAULT_PORT = 8150


def review_class(results: Path, submissions: Path | None, port: int | None, browser: bool) -> int:
    """Serve the page until Ctrl-C; returns the exit code.

    Args:
        submissions: what was graded, as `qkv grade` takes it.

    Raises:
        click.UsageError: the results or the submissions cannot be read, or the corrections so far are not valid.
    """
    with ExitStack() as stack:
        return _review_class(results, submissions, port, browser, stack)


def _review_class(results: Path, submissions: Path | None, port: int | None, browser: bool, stack: ExitStack) -> int:
    files = {} if submissions is None else files_of(submissions, results, stack)
    try:
        graded = GradedClass(results, with_progress)
    except OSError as error:
        raise click.UsageError(f"These results cannot be reviewed ({os_error_text(error)}). Grade again.") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    scheme = read_scheme(results)
    before = scheme.corrections
    stopping = stop_signals()
    try:
        chosen = first_free_port(port or DEFAULT_PORT, "the review page")
    except NotServing as trouble:
        click.echo(f"qkv review-class: {trouble}", err=True)
        return 1
    desk = Desk(results, graded, Worth(scheme.policy.points), files)
    with ReviewServer(desk, chosen, assignment(None).title) as server:
        threading.Thread(target=server.serve_forever, name="review", daemon=True).start()
        counts = f"{counted(len(graded.students), 'student')}, {counted(len(before), 'correction')} so far"
        click.echo(f"{counts}. Open\n\n  {server.address}\n")
        click.echo("Only this machine can. Press ? there for the keys, and Ctrl-C here to end it.")
        sys.stdout.flush()
        if browser and has_screen():
            webbrowser.open(server.address)
        stopping.wait()
        server.shutdown()
    after = read_scheme(results).corrections
    written = f"{counted(len(after), 'correction')} in {results / corrections.NAME}"
    click.echo(f"\n{written}: `qkv grade` and `qkv export` apply them.")
    return 0


def files_of(submissions: Path, results: Path, stack: ExitStack) -> dict[str, Submission]:
    """The submissions of a class by student; what a download held is there until the stack is left."""
    collected = collect_class(submissions, results, stack, known_roster(results, None), None, lambda sentence: None)
    return {submission.student: submission for submission in collected.submissions.submissions}


def with_progress(lines: Read) -> Iterator[bytes]:
    """A bar, where reading takes its time."""
    from tqdm import tqdm

    yield from tqdm(lines, desc="Reading results", unit=" students", delay=2, leave=False)


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
