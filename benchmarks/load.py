"""What a grader meets on a bad evening: a class of 20,000, kills at random moments, workers that are lost, a full disk,
two graders on one folder. Each time the files are compared, byte for byte, with those of a run that nothing disturbed.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import classroom
import psutil
from grading import fresh
from measuring import say
from ours import ONE_THREAD

EXERCISES = ("similarity_scores", "softmax")  # a light pair: what is tried here is the grader, not the search for lines
WORKERS, LOST = 4, 2  # of the cluster
SECOND_AFTER = 3.0  # seconds within which a second grader comes
GOES_ON = "the same command goes on from there"
REFUSES = "another grader is writing into"
LEFT = 30.0  # seconds within which every process of a killed grader has to be gone
INTRODUCTION = """\
Notebooks with two exercises each, `{exercises}`, spelled as above, one seed. *As undisturbed*: every file of the
results equals, byte for byte, that of a run of the same class which nothing disturbed. All of it runs on this machine;
the processes of the cluster talk over its loopback address.
"""


@dataclass(frozen=True)
class Memory:
    """Memory of all processes of a run, in MB, each second; pages that they share are counted once."""

    seconds: float
    samples: tuple[float, ...]

    def quarter(self, number: int) -> float:
        """The largest sample of one quarter of the run, 0 … 3."""
        size = max(len(self.samples) // 4, 1)
        return max(self.samples[number * size : (number + 1) * size] or self.samples)


def section(home: Path, students: int = 20_000, some: int = 120, kills: int = 20, second_graders: int = 8) -> list[str]:
    """The lines of the results about load.

    Args:
        home: where classes go.
        students: of the large class.
        some: students of the class that is disturbed.
        kills: of a grader, each at a random moment.
        second_graders: trials of two graders on one folder.
    """
    dice = random.Random()
    folder = make(home / "large", students)
    out = fresh(home / "large-results")
    say(f"{students} submissions")
    memory = watched(command(folder, out))
    summary = (out / "summary.html").stat().st_size / 2**20
    folder = make(home / "some", some)
    right = fresh(home / "undisturbed")
    began = time.perf_counter()
    finish(command(folder, right))
    whole = time.perf_counter() - began
    lines = ["## Load", "", *INTRODUCTION.format(exercises="`, `".join(EXERCISES)).splitlines(), ""]
    lines += [
        f"- **{students:,} submissions, two workers**: {memory.seconds:.0f} s, {memory.seconds / students:.4f} s each. "
        f"The most memory in the second quarter of that time is {memory.quarter(1):.0f} MB, in the last "
        f"{memory.quarter(3):.0f} MB; `summary.html` has {summary:.2f} MB, {len(rows(out)):,} rows were written."
    ]
    for title, tried in {
        f"kill -9 at {kills} random moments, class of {some}": lambda: killed(folder, home, right, kills, whole, dice),
        f"{WORKERS} Dask workers, {LOST} of them killed, class of {some}": lambda: cluster(folder, home, right, dice),
        f"a full disk, class of {some}": lambda: full_disk(folder, home, right),
        f"two graders on one folder, {second_graders} times": lambda: two_graders(
            folder, home, right, second_graders, dice
        ),
    }.items():
        say(title)
        lines.append(f"- **{title}**: {tried()}")
    return lines


# ---- what is disturbed


def killed(folder: Path, home: Path, right: Path, kills: int, whole: float, dice: random.Random) -> str:
    """A run is ended by SIGKILL at random moments, and started again by the same command until it is done."""
    done = equal = finished = left = 0
    times = []
    while done < kills:
        out = fresh(home / "killed")
        while True:
            moment = dice.uniform(0.2, 1.1) * whole
            grader = started(command(folder, out))
            try:
                grader.wait(moment if done < kills else None)
                break
            except subprocess.TimeoutExpired:
                processes = family(grader.pid)
                grader.kill()
                grader.wait()
                left += len(psutil.wait_procs(processes, timeout=LEFT)[1])
                done += 1
                times.append(moment)
                if (out / "results.jsonl").exists() and not (out / ".grading").exists():
                    break  # it had finished before it was killed
        finished += 1
        equal += same(right, out)
    return (
        f"{done} kills, after {min(times):.1f} to {max(times):.1f} s (undisturbed: {whole:.1f} s); the same command "
        f"finished {finished} runs, {equal} of them as undisturbed; {left} processes were left behind."
    )


def cluster(folder: Path, home: Path, right: Path, dice: random.Random) -> str:
    """Workers without a nanny, of which some are killed at random moments of the marking."""
    out = fresh(home / "cluster")
    with running_cluster(home) as (address, workers):
        grader = started([*command(folder, out, "--engine=dask"), f"--scheduler={address}"])
        moments = sorted(dice.sample(range(1, max(len(files(right)) // 2, LOST + 1)), LOST))
        for worker, moment in zip(dice.sample(workers, LOST), moments, strict=True):
            while marked(out) < moment and grader.poll() is None:
                time.sleep(0.02)
            unfinished = grader.poll() is None
            worker.kill()
        text, _ = grader.communicate(timeout=3600)
    when = " and ".join(f"{moment}" for moment in moments)
    return (
        f"killed when {when} submissions were marked{'' if unfinished else ', or later'}; exit {grader.returncode}, "
        f"{outcome(right, out)}{quoted(text) if grader.returncode else ''}."
    )


def marked(out: Path) -> int:
    """How many submissions of an unfinished run are marked."""
    journal = out / ".grading" / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def full_disk(folder: Path, home: Path, right: Path) -> str:
    """Results go to a file system that is too small, then a little larger, then large enough."""
    place = fresh(home / "disk")
    place.mkdir(parents=True)
    out = place / "results"
    words = " ".join(f"'{word}'" for word in command(folder, out))
    needed = sum(-(-path.stat().st_size // 4096) * 4 for path in right.rglob("*"))
    sizes = [f"{max(round(needed * share), 16)}k" for share in (0.02, 0.3, 0.7, 10)]
    script = [f"mount -t tmpfs -o size={sizes[0]} tmpfs '{place}' || exit 42"]
    for size in sizes:
        again = f"mount -o remount,size={size} '{place}'; {words}; code=$?; echo exit $code"
        script.append(f'[ "$code" = 0 ] || {{ {again}; }}')
    script.append(f"cp -r '{out}' '{fresh(home / 'from-disk')}'")
    inside = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", "\n".join(script)]
    run = subprocess.run(inside, env=ONE_THREAD, capture_output=True, text=True)
    if run.returncode == 42:
        return "not tried: this machine does not let us mount a small file system."
    codes = [line for line in run.stdout.splitlines() if line.startswith("exit ")]
    said = [line for line in run.stderr.splitlines() if line.startswith("Not ")]
    return (
        f"file systems of {', '.join(sizes)}, until one is enough: {', '.join(codes)}; "
        f"{len(said)} sentences of failure, {sum(GOES_ON in line for line in said)} of them say what to do; "
        f"{'a traceback, ' if 'Traceback' in run.stderr else ''}{outcome(right, home / 'from-disk')}."
    )


def two_graders(folder: Path, home: Path, right: Path, trials: int, dice: random.Random) -> str:
    """A second grader comes a random moment after the first, into the same folder."""
    refused = equal = 0
    for _ in range(trials):
        out = fresh(home / "twice")
        graders = [started(command(folder, out))]
        time.sleep(dice.uniform(0, SECOND_AFTER))
        graders.append(started(command(folder, out)))
        texts = [grader.communicate()[0] for grader in graders]
        codes = sorted(grader.returncode for grader in graders)
        refused += codes == [0, 1] and sum(REFUSES in text for text in texts) == 1
        equal += same(right, out)
    return f"in {refused} exactly one of them refuses with a sentence and the other ends well; {equal} as undisturbed."


# ---- with what


def make(folder: Path, students: int) -> Path:
    """A class of notebooks with the light exercises alone."""
    fresh(folder).mkdir(parents=True)
    for number in range(students):
        written = {name: text for name, text in classroom.answers(number).items() if name in EXERCISES}
        (folder / f"{classroom.student_name(number)}.ipynb").write_text(classroom.notebook(written, tests=False))
    return folder


def command(folder: Path, out: Path, *more: str) -> list[str]:
    words = [sys.executable, "-m", "qkv", "grade", str(folder), "--out", str(out), "--jobs=2", "--seed=1"]
    return [*words, f"--exercises={','.join(EXERCISES)}", *more]


def started(words: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(words, env=ONE_THREAD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(words: Sequence[str]) -> None:
    grader = started(words)
    text, _ = grader.communicate()
    if grader.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{text[-3000:]}")


def watched(words: Sequence[str]) -> Memory:
    """Run a command to its end, with its memory each second."""
    began = time.perf_counter()
    samples: list[float] = []
    thread = threading.Thread(target=finish, args=(words,))
    with reaped() as ours:
        thread.start()
        while thread.is_alive():
            thread.join(1.0)
            if total := sum(map(proportional_mb, ours())):
                samples.append(total)
    return Memory(time.perf_counter() - began, tuple(samples))


@contextmanager
def reaped() -> Iterator[Callable[[], list[psutil.Process]]]:
    """Gives the processes that were started since, with all of theirs."""
    before = set(family(os.getpid()))
    yield lambda: [one for one in family(os.getpid()) if one not in before]


def proportional_mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss) / 2**20
    except (psutil.Error, AttributeError):
        return 0.0


def family(pid: int) -> list[psutil.Process]:
    try:
        return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


@contextmanager
def running_cluster(home: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers as separate programs, as on several machines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    dask = [sys.executable, "-m", "dask"]
    options = {"env": ONE_THREAD, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*dask, "scheduler", f"--host={address}", "--no-dashboard"], **options)
    place = fresh(home / "workers")
    words = [*dask, "worker", address, "--no-nanny", "--nthreads=1", f"--local-directory={place}", "--no-dashboard"]
    workers = [subprocess.Popen(words, **options) for _ in range(WORKERS)]
    try:
        from distributed import Client

        with Client(address, timeout=120) as client:
            client.wait_for_workers(WORKERS, timeout=120)
        yield address, workers
    finally:
        for process in [*workers, scheduler]:
            process.kill()
            process.wait()


# ---- what came of it


def rows(out: Path) -> list[str]:
    return (out / "results.jsonl").read_text("utf-8").splitlines()


def files(out: Path) -> dict[Path, bytes]:
    return {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def same(right: Path, out: Path) -> bool:
    """Are these results, file by file, those of the run that nothing disturbed?"""
    return out.exists() and files(right) == files(out)


def outcome(right: Path, out: Path) -> str:
    return "as undisturbed" if same(right, out) else "NOT as undisturbed"


def quoted(text: str) -> str:
    return f" ({text.strip().splitlines()[-1:]})"
