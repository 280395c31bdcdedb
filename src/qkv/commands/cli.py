"""The `qkv` command. Every command imports what it needs when it runs, so that `qkv --help` does not wait for torch.

Exit codes: 0 all is well; 1 the work was done and something did not pass; 2 the command was not understood.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.inside.rlimits import Limits
from proctor.marking.submissions import SUFFIXES
from qkv import __version__

if TYPE_CHECKING:
    from qkv.notebook.workspace import Workspace


class Suggesting(click.Group):
    """A group of commands that answers a mistyped command with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"There is no command {args[0]!r}. {nearest(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by who needs them, each with its first sentence, whole."""
        width = max(map(len, self.commands))
        for title, names in FOR.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{name:{width}}", self.commands[name].get_short_help_str(limit=200)) for name in names]
                )


FOR = {
    "For students": ("start", "check", "hint", "status", "stub", "watch", "review", "hand-in", "update", "doctor"),
    "For instructors": ("grade", "review-class", "release", "export"),
    "For authors": ("new", "lint", "build", "book"),
}


class Seconds(click.FloatRange):
    """A time that can be waited for; `nan` is neither too short nor too long for a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return seconds


@click.group(cls=Suggesting, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qkv")
def main() -> None:
    """QKV: build the Transformer from scratch, and be told what you got wrong.

    \b
    qkv start             begin here: the book and the notebooks, in your browser
    qkv COMMAND --help    what a command does, and its options
    """


# ---- students


@main.command()
@click.option("--no-browser", is_flag=True, help="Print the addresses only.")
@click.option("--port", type=click.IntRange(1, 65000), help="Port of the book; JupyterLab takes the next free one.")
def start(no_browser: bool, port: int | None) -> None:
    """Serve the book and JupyterLab on notebooks/, until Ctrl-C.

    Where the course was installed by pip, this folder gets its notebooks the first time, so begin in an empty one.
    """
    from qkv.commands.start import serve_course

    sys.exit(serve_course(port=port, browser=not no_browser))


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
def check(paths: tuple[Path, ...]) -> None:
    """Check your answers in notebooks, .py files or weights.

    The same as check() in a notebook. A folder stands for the notebooks, .py files and .safetensors files in it. The
    exit code is 0 when all that is started passes; it is 1 if an answer does not pass, or if something cannot be read,
    such as a cell with a syntax error.
    """
    files = [file for path in paths for file in checkable(path)]

    from qkv.notebook import checking

    sys.exit(checking.check_paths(files))


@main.command()
@click.argument("exercise")
@click.option("--more", is_flag=True, help="The next one now, without another check and without waiting a minute.")
def hint(exercise: str, more: bool) -> None:
    """Show the next hint for EXERCISE, gentlest first.

    There is a next one after another check, or after a minute. Which ones you took is stored on this machine alone.
    """
    name = known_exercise(exercise)

    from qkv.notebook import checking

    click.echo(checking.next_hint(name, more))


@main.command()
@click.argument("chapter", required=False)
def status(chapter: str | None) -> None:
    """Show how far you are, and what comes next.

    There is a bar for each chapter; with CHAPTER, such as 05, a line for each of its exercises.
    """
    from qkv.notebook.status import Status

    if chapter is None:
        click.echo(str(Status.now()))
        return
    from qkv.commands.stub import NoStub, stem_of
    from qkv.notebook import places

    try:
        click.echo(Status.now().of_chapter(places.chapter_number(stem_of(chapter))))
    except NoStub as unknown:
        raise click.UsageError(str(unknown)) from None


@main.command()
def review() -> None:
    """Ask again for what you passed a week ago or more.

    The empty stubs of such exercises are written into a file, to be filled in from nothing. Each is asked for three
    times at most, a week apart, and three at a time. What you write goes into a file of its own,
    which `qkv watch` checks, and your notebooks stay as they are.
    """
    from qkv.commands.stub import write_review

    sys.exit(write_review(say=click.echo))


@main.command()
@click.argument("chapter")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file; 05_masks.py unless said.")
def stub(chapter: str, out: Path | None) -> None:
    """Write the stubs of CHAPTER into a .py file to fill in.

    For the editor that you like. CHAPTER is a number or a stem, such as 05 or masks; the name of an exercise gives that
    one alone. A file that is there already gets the stubs that it lacks, and nothing in it is changed.
    """
    from qkv.commands.stub import write_stubs

    sys.exit(write_stubs(chapter, out, say=click.echo))


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
def watch(path: Path) -> None:
    """Check one file now and on every save, until Ctrl-C.

    The file is a notebook or a .py file. For people who like an editor: leave it running in a terminal beside it. Each
    time, it says what is new and what comes next.
    """
    files = checkable(path)
    if len(files) != 1 or path.is_dir():
        raise click.UsageError(f"{path} is a folder. Name one notebook or .py file.")

    from qkv.commands.watch import watch_file

    sys.exit(watch_file(path, say=click.echo))


@main.command("hand-in")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file; hand-in-DATE.zip unless said.")
def hand_in(paths: tuple[Path, ...], out: Path | None) -> None:
    """Check as the grader will, and write one file to hand in.

    Takes what you name; or else all notebooks, .py files and weights in notebooks/, and those .py files of this folder
    that have answers, as `qkv stub` makes them. All are one submission. Answers are checked on fresh inputs, as in a
    graded run. Then the files that have an answer are put into one zip file for your LMS; that is done also if some
    answers do not pass yet. The exit code is 0 if all that you began passes.
    """
    if out is not None and out.suffix != ".zip":
        raise click.UsageError(f"--out names a zip file; {out} does not end in .zip.")
    place = None if paths else workspace()
    files = checkable(place.notebooks) if place else [file for path in paths for file in checkable(path)]

    from qkv.commands.hand_in import answers_beside, write_hand_in

    if place:
        files += answers_beside(place, files)
    sys.exit(write_hand_in(files, out, say=click.echo))


@main.command()
@click.option("--no-pull", is_flag=True, help="The newest edition is here already: only put the answers into it.")
def update(no_pull: bool) -> None:
    """Bring the newest edition of the course, your answers in it.

    Before anything changes, all of notebooks/ is copied to kept/DATE_TIME/. Then git gets the newest edition (pip,
    where pip installed the course), and what you wrote is put into it: answers by the names of their functions and
    classes, cells of your own where they were. You can run it any number of times; copies that were kept are never
    touched.

    If git or pip cannot go on, as when you changed other files of the clone, your notebooks are put back as they were,
    and you are told what to do.
    """
    from qkv.commands.update import update_course

    sys.exit(update_course(workspace(), pull=not no_pull, say=click.echo))


@main.command()
def doctor() -> None:
    """Say what this machine has: versions, devices, sandbox."""
    from qkv.commands.doctor import machine_report

    click.echo(machine_report())


# ---- instructors

ROSTER = click.Path(exists=True, dir_okay=False, path_type=Path)
ROSTER_HELP = "A CSV file with the columns folder,id,name (and login,email): who is who in your LMS."


POLICY_HELP = "A TOML file: points, best of several, due dates, late factors, extensions, groups, pass mark."
TIMES_HELP = "A CSV file with the columns folder,time: when they handed in. It overrules what the LMS tells."
FORMS = ["canvas", "moodle", "gradescope", "nbgrader", "classroom", "folders"]


class ClassPath(click.Path):
    """A folder, or a zip file of one; a message about what is not there says which was expected."""

    def __init__(self) -> None:
        super().__init__(exists=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        self.name = "file" if str(value).lower().endswith(".zip") else "directory"
        return super().convert(value, param, ctx)


@main.command()
@click.argument("submissions", type=ClassPath())
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Where results go.")
@click.option("--jobs", type=click.IntRange(min=1), help="Workers; as many as there are cores unless said.")
@click.option("--engine", type=click.Choice(["local", "dask"]), default="local", show_default=True)
@click.option("--scheduler", metavar="ADDRESS", help="Of the Dask cluster, with --engine dask.")
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True, max=86_400),
    default=Limits.seconds,
    show_default=True,
    help="Seconds of processor time for one answer (by the clock, four times as many).",
)
@click.option(
    "--memory",
    type=click.IntRange(64, 2**20),
    default=Limits.memory_mb,
    show_default=True,
    help="Megabytes that it may use.",
)
@click.option("--exercises", metavar="A,B", help="Grade these only: exercises by name, chapters by stem.")
@click.option("--seed", type=int, help="The same seed gives the same grades; inputs are fresh each run without one.")
@click.option("--no-resume", is_flag=True, help="Grade all again, also what an interrupted run has finished.")
@click.option("--roster", type=ROSTER, help=f"{ROSTER_HELP} `qkv export` finds it again in DIR.")
@click.option("--policy", type=ROSTER, help=f"{POLICY_HELP} Without it, course.toml beside SUBMISSIONS.")
@click.option("--times", type=ROSTER, help=TIMES_HELP)
@click.option("--form", type=click.Choice(FORMS), help="What SUBMISSIONS is, where it is taken for something else.")
@click.option("--trust-submissions", is_flag=True, help="Grade where there is no sandbox. Their code runs as you.")
def grade(
    submissions: Path,
    out: Path,
    jobs: int | None,
    engine: str,
    scheduler: str | None,
    timeout: float,
    memory: int,
    exercises: str | None,
    seed: int | None,
    no_resume: bool,
    roster: Path | None,
    policy: Path | None,
    times: Path | None,
    form: str | None,
    trust_submissions: bool,
) -> None:
    """Grade a class.

    SUBMISSIONS is what your LMS hands out, as a zip file or unpacked: the downloads of Canvas and Moodle, Gradescope's
    export, nbgrader's tree, GitHub Classroom's repositories. Or it holds one folder or file per student.
    """
    if scheduler and engine != "dask":
        raise click.UsageError("--scheduler is the address of a Dask cluster: add --engine dask.")
    if engine == "local":
        from qkv.commands.early_sandbox import begin_sandbox

        begin_sandbox(Limits(seconds=timeout, memory_mb=memory), trust_submissions)
    chosen = chosen_exercises(exercises) if exercises is not None else None

    from qkv.commands import grading

    code = grading.grade_submissions(
        submissions,
        out,
        jobs=jobs,
        engine=engine,
        scheduler=scheduler,
        timeout=timeout,
        memory=memory,
        exercises=chosen,
        seed=seed,
        resume=not no_resume,
        roster=roster,
        form=form,
        policy=policy,
        times=times,
        trust_submissions=trust_submissions,
    )
    sys.exit(code)


@main.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--format", "kind", required=True, type=click.Choice(["gradescope", "canvas", "moodle", "csv"]))
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@click.option("--roster", type=ROSTER, help=f"{ROSTER_HELP} Without it, the one that `qkv grade` was given.")
@click.option("--policy", type=ROSTER, help=f"{POLICY_HELP} Without it, the one that `qkv grade` used.")
@click.option("--times", type=ROSTER, help=TIMES_HELP)
def export(directory: Path, kind: str, out: Path, roster: Path | None, policy: Path | None, times: Path | None) -> None:
    """Turn the results in DIR into a file for the LMS."""
    if not (directory / "results.jsonl").exists():
        raise click.UsageError(f"There is no results.jsonl in {directory}. Name a folder that `qkv grade --out` wrote.")

    from qkv.commands import grading

    sys.exit(grading.export_class(directory, kind, out, roster, policy, times))


@main.command("review-class")
@click.argument("directory", metavar="RESULTS", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--submissions",
    type=click.Path(exists=True, path_type=Path),
    help="The folder or zip file that was graded, to show its code; without it, the code that the results keep.",
)
@click.option("--port", type=click.IntRange(1, 65535), help="Where to serve it; 8150 or the next free one unless said.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def review_class(directory: Path, submissions: Path | None, port: int | None, no_browser: bool) -> None:
    """Go through a graded class, mistake by mistake, and correct.

    You correct the points of answers or comment on them, by keyboard. One page on this machine shows code, card and
    points, and writes corrections.csv in RESULTS, which `qkv grade` and `qkv export` apply. The verdicts stay as they
    are.
    """
    if not (directory / "results.jsonl").exists():
        raise click.UsageError(f"There is no results.jsonl in {directory}. Name a folder that `qkv grade --out` wrote.")

    from qkv.commands import reviewing

    sys.exit(reviewing.review_class(directory, submissions, port, not no_browser))


@main.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", "out", required=True, type=click.Path(file_okay=False, path_type=Path), help="A folder for it.")
@click.option("--student", "students", multiple=True, metavar="NAME", help="Release to this one only; may be repeated.")
@click.option("--exercises", metavar="A,B", help="Release these only: exercises by name, chapters by stem.")
@click.option("--anonymous", is_flag=True, help="Ids instead of names; DIR/anonymous.csv keeps who is who.")
@click.option("--roster", type=ROSTER, help=f"{ROSTER_HELP} Without it, the one that `qkv grade` was given.")
@click.option("--policy", type=ROSTER, help=f"{POLICY_HELP} Without it, the one that `qkv grade` used.")
@click.option("--times", type=ROSTER, help=TIMES_HELP)
def release(
    directory: Path,
    out: Path,
    students: tuple[str, ...],
    exercises: str | None,
    anonymous: bool,
    roster: Path | None,
    policy: Path | None,
    times: Path | None,
) -> None:
    """Write what students get: pages, grades, files for the LMS.

    They are made from the results in DIR; Canvas and Moodle take the files back. Corrections and the policy are in
    them, as they are now: nothing has to be graded again.
    """
    if not (directory / "results.jsonl").exists():
        raise click.UsageError(f"There is no results.jsonl in {directory}. Name a folder that `qkv grade --out` wrote.")
    chosen = chosen_exercises(exercises) if exercises is not None else None

    from qkv.commands.releasing import release_results

    sys.exit(release_results(directory, out, students, chosen, anonymous, roster, policy, times))


# ---- authors


@main.group()
def new() -> None:
    """Begin an exercise or a chapter, with all its pieces."""


@new.command("exercise")
@click.argument("name")
@click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
@click.option("--chapter", "stem", required=True, metavar="STEM", help="The chapter that it closes, such as lookup.")
def new_exercise(name: str, arguments: tuple[str, ...], stem: str) -> None:
    """An exercise NAME: reference, test, probes and mistakes, a right and a wrong answer, its place in the chapter.

    \b
    qkv new exercise nearest_key q k --chapter lookup    a function of two tensors
    qkv new exercise NearestKey x --chapter lookup       a class, since its name is in CapWords
    """
    from qkv.authoring.write import new as pieces

    sys.exit(pieces.new_exercise(name, stem, arguments))


@new.command("chapter")
@click.argument("stem")
@click.option("--title", required=True, help="Its heading, such as 'How to choose a word'.")
def new_chapter(stem: str, title: str) -> None:
    """A chapter STEM after the last one: its page, its files, and a line wherever chapters are listed."""
    from qkv.authoring.write import new_chapter as pieces

    sys.exit(pieces.new_chapter(stem, title))


@main.command()
@click.argument("names", nargs=-1, metavar="[EXERCISE|CHAPTER]...")
@click.option("--salts", type=click.IntRange(min=1), default=20, show_default=True, help="Sets of inputs to prove on.")
@click.option("--jobs", type=click.IntRange(min=1), help="Workers; as many as there are cores unless said.")
@click.option("--changed", is_flag=True, help="Those that changed since main.")
@click.option("--turn", is_flag=True, help="A quarter, on each day another; all with QKV_ALL=1 in the environment.")
@click.option("--alone", is_flag=True, help="List the mistakes that no second spelling equals.")
def lint(names: tuple[str, ...], salts: int, jobs: int | None, changed: bool, turn: bool, alone: bool) -> None:
    """Prove the exercises: checks, mistakes, hints, answers.

    All of them, or those that are named, that changed, or whose turn it is.
    """
    from qkv import exercises
    from qkv.authoring.write.lint import run_lint

    chosen = [known_exercise(name, exercises.CHAPTERS) for name in names]
    if changed or turn:
        from qkv.authoring.write import changed as since
        from qkv.authoring.write import rotation
        from qkv.course import Course

        chosen += since.changed_exercises(Course.here().root) if changed else []
        chosen += rotation.turn(exercises.names()) if turn else []
        if not chosen:
            print("No exercise changed since main: nothing to prove.")
            return
    sys.exit(run_lint(list(dict.fromkeys(chosen)), salts, jobs, alone))


@main.command()
@click.argument("stems", nargs=-1, metavar="[CHAPTER]...")
@click.option("--check", is_flag=True, help="Write nothing; say which editions are stale.")
@click.option("--force", is_flag=True, help="Run every chapter again, changed or not.")
@click.option("--second-seeds", is_flag=True, help="Run what changed a second time, with other seeds, for the claims.")
def build(stems: tuple[str, ...], check: bool, force: bool, second_seeds: bool) -> None:
    """Make both editions of the notebooks from book/chapters."""
    if check and force:
        raise click.UsageError("--check writes nothing, so there is nothing to --force.")
    if check and second_seeds:
        raise click.UsageError("--check runs nothing; it compares what `qkv build --second-seeds` has stored.")

    from qkv.authoring.build.building import build_editions

    sys.exit(build_editions(list(stems) or None, check, force, second_seeds))


@main.command()
@click.option("--serve", "and_serve", is_flag=True, help="Serve it when it is built, until Ctrl-C.")
def book(and_serve: bool) -> None:
    """Build the HTML book into _build/html; a warning is an error."""
    from qkv.commands.start import build_book, serve_book
    from qkv.notebook.workspace import find_workspace

    place = find_workspace()
    if not place.is_clone:
        raise click.UsageError("An installed course has its book already: `qkv start` serves it.")
    sys.exit(build_book(place.root) or (serve_book(place) if and_serve else 0))


# ---- what commands accept


def checkable(path: Path) -> list[Path]:
    """The files that `path` stands for."""
    if path.is_dir():
        if not (files := answer_files(path)):
            raise click.UsageError(f"There is no notebook and no .py file in {path}.")
        return files
    if not path.exists():
        if (there := Path("notebooks") / path.name).exists():
            raise click.UsageError(f"There is no file {path} here, but there is {there}.")
        beside = [str(file) for file in answer_files(path.parent)] if path.parent.is_dir() else []
        raise click.UsageError(f"There is no file {path}. {nearest(str(path), beside)}".rstrip())
    if path.suffix not in SUFFIXES:
        raise click.UsageError(f"{path} is neither a notebook (.ipynb) nor a .py file, nor weights (.safetensors).")
    return [path]


def workspace() -> Workspace:
    """The workspace that we are in, or else the clone that this command was installed from."""
    from qkv.notebook.workspace import NoWorkspace, find_workspace

    try:
        place = find_workspace()
    except NoWorkspace as none:
        raise click.UsageError(str(none).capitalize()) from none
    if not place.notebooks.is_dir():
        raise click.UsageError("Run this in the folder of the course: the one that has notebooks/.")
    return place


def answer_files(folder: Path) -> list[Path]:
    """Files of a folder that may hold answers: notebooks, .py files, weights."""
    return sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES)


def known_exercise(name: str, chapters: Sequence[str] = ()) -> str:
    """`name`, if there is an exercise of that name, or one of the `chapters`."""
    from qkv import exercises

    try:
        return name if name in chapters else exercises.get(name).name
    except exercises.UnknownExercise as unknown:
        text = str(unknown)
        raise click.UsageError(text[:1].upper() + text[1:]) from unknown


def chosen_exercises(text: str) -> list[str]:
    """The exercises that a text such as `softmax,heads` selects: by name, or all of a chapter by its stem."""
    from qkv import exercises

    chapters = exercises.CHAPTERS
    names = [known_exercise(word.strip(), chapters) for word in text.split(",") if word.strip()]
    if not names:
        raise click.UsageError(
            "--exercises names nothing. Give names of exercises or stems of chapters: softmax,heads."
        )
    return [found for name in names for found in (exercises.names_of(name) if name in chapters else [name])]


def nearest(word: str, known: list[str]) -> str:
    """`Did you mean …?`, or what there is to choose from; nothing where there is nothing."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]}?"
    return f"There are: {', '.join(known)}." if 0 < len(known) <= 20 else ""
