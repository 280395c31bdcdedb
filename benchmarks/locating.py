"""How many of the wrong answers that we keep are helped: named, explained or located, and what the search costs.

The answers are split in two by a hash of their path: what is tuned looks at "tuned"; "held back" is what counts.

    python benchmarks/locating.py [held|tuned|all] [PART OF A PATH]

prints what each answer without a name was told, and then this part of the results. Of a hundred answers of
the half that nobody tuned to, `proving` proves the cards.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median

import proving
import torch

from proctor import Examiner, Result
from proctor.examining.result import HELPS
from proctor.locate.where import lacks_a_line
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.line_search import LineSearch
from proctor.marking.submissions import read_submitted_file
from qkv import exercises
from qkv.authoring.write.sample_answers import sample_answers
from qkv.notebook.checking import judged_in_process

ANSWERS = Path(__file__).resolve().parents[1] / "answers"
SALT = "kept answers"
PROVED = 100  # answers whose cards a second program proves
HALVES = {"tuned": "those that the search was tuned on", "held": "those that were held back"}
KINDS = {**{kind: kind for kind in HELPS}, None: "told nothing"}
INTRODUCTION = """\
Of the wrong answers in `answers/`, how many are told which mistake they make (*named*) or nearly make (*resembles*),
which property they lack or what is wrong with their result (*explained*), in which line they go wrong (*located*), or
see numbers and facts alone (*shown*); with the search of `proctor.locate` and without it, where a line is known of code
that stopped. A file's answers are all in one half, by a hash of its path. The half that was held back is no longer
quite untouched: 370 of its cards were read against their code, and sixteen of its mistakes got a name since.

On 2026-11-19 150 cards of both halves, drawn at random, were read one by one against the code. Of 74 that name a
mistake 73 are true and 1 is doubtful, of 42 that explain 39 and 3, of 28 that show a line 27 and 1, of 6 that show
numbers 6 and 0; none is false. What was doubtful is mended since: a label of one word that read as a sentence, a label
with a comma in one, and three lines that were right while the fault was in a line before.

Of 160 answers of the held-back half that nobody had looked at, 95.6 % were named, explained or located then, and 1.3 %
resembled a mistake. Two kinds of facts and one name that the other seven asked for make that 97.5 %.
"""


@dataclass(frozen=True)
class Judged:
    """A wrong answer, judged without and with the search for its line."""

    path: Path
    plain: Result
    searched: Result
    seconds: float | None  # of processor time that the search took; None if none was begun

    @property
    def half(self) -> str:
        return half_of(self.path)


def half_of(path: Path) -> str:
    """In which half an answer is; a file's answers are all in the same."""
    name = path.relative_to(ANSWERS).as_posix()
    return ("tuned", "held")[hashlib.sha256(name.encode()).digest()[0] % 2]


@dataclass
class Judge:
    """Judges kept wrong answers; makes the examiner of an exercise when the first answer to it comes."""

    examiners: dict[str, Examiner] = field(default_factory=dict)

    def judged(self, which: str = "all", part: str = "", every: int = 1) -> Iterator[Judged]:
        """Those of one half, or of both, with `part` in their path; of these files every so-and-so-many-th."""
        torch.set_num_threads(1)
        chosen = 0
        for path, answers in groupby(sample_answers(ANSWERS, "wrong"), key=lambda answer: answer.path):
            if which in ("all", half_of(path)) and part in path.as_posix():
                if chosen % every == 0:
                    yield from self._file(path, {answer.exercise for answer in answers})
                chosen += 1

    def _file(self, path: Path, answered: set[str]) -> Iterator[Judged]:
        names = [name for name in exercises.of_code() if name in answered]
        for name in names:
            self.examiners.setdefault(name, Examiner(exercises.get_code(name), SALT))
        chosen = {name: self.examiners[name] for name in names}
        submission = Answers([extract(read_submitted_file(path.name, path))])
        plain = {r.exercise: r for r in judged_in_process(submission, names, chosen)}
        lacking = [name for name, result in plain.items() if lacks_a_line(result)]
        began, searched = time.process_time(), plain
        if lacking:
            found = judged_in_process(submission, names, chosen, LineSearch(reveal=True))
            searched = {r.exercise: r for r in found}
        each = (time.process_time() - began) / max(len(lacking), 1)
        for name, result in plain.items():
            yield Judged(path, result, searched[name], each if name in lacking else None)


def section(which: str = "held", part: str = "", every: int = 1, talk: bool = False) -> list[str]:
    """The lines of the results about what a wrong answer is told.

    Args:
        which: one half of the answers, or all.
        part: of the path, to look at a few.
        every: 10 looks at one file in ten.
        talk: print what each answer without a name was told.
    """
    found: list[Judged] = []
    for judged in Judge().judged(which, part, every):
        found.append(judged)
        if talk and judged.plain.help != "named":
            print(f"{judged.path.relative_to(ANSWERS)} {judged.plain.exercise}: {said(judged.searched)}", flush=True)
    lines = ["## What a wrong answer is told", "", *INTRODUCTION.splitlines()]
    lines += [*([f"One file in {every} was looked at."] if every > 1 else []), ""]
    lines += [
        "| answers | the search | refused | " + " | ".join(KINDS.values()) + " |",
        "|---|---|" + "---|" * (1 + len(KINDS)),
    ]
    groups = ({"all": found} if which == "all" else {}) | {
        words: [j for j in found if j.half == half] for half, words in HALVES.items()
    }
    for words, group in groups.items():
        if group:
            lines.append(f"| {words}: {len(group):,} | without | {shares([j.plain for j in group])} |")
            lines.append(f"| | with | {shares([j.searched for j in group])} |")
    by = Counter(j.searched.located.by for j in found if j.searched.located is not None)
    took = sorted(j.seconds for j in found if j.seconds is not None)
    if by:
        lines += ["", f"- Found by {', '.join(f'{how}: {n}' for how, n in by.most_common())}."]
    if took:
        tenth = took[int(0.9 * len(took))]
        lines.append(
            f"- Of {len(took)} answers that were searched, the median takes {median(took):.2f} s of processor time, "
            f"nine in ten at most {tenth:.2f} s. To judge the answer again is included."
        )
    held = [(j.path, j.plain.exercise) for j in found if j.half == "held"]
    held.sort(key=lambda one: hashlib.sha256(f"{one[0].relative_to(ANSWERS).as_posix()} {one[1]}".encode()).digest())
    return [*lines, *proving.section(held[:PROVED], SALT)]


def shares(results: list[Result]) -> str:
    refused = sum(result.state != "passed" for result in results)
    counts = Counter(result.help for result in results)
    return f"{refused} | " + " | ".join(f"{counts[kind]} ({100 * counts[kind] / len(results):.1f} %)" for kind in KINDS)


def said(result: Result) -> str:
    """What was found, the edit too, for authors."""
    located = result.located
    if located is None:
        return result.help or "nothing"
    edit = f" -> {located.new!r}" if located.new else ""
    return f"line {result.line} by {located.by}: {located.kind}: {located.old!r}{edit}"


if __name__ == "__main__":
    print("\n".join(section(*sys.argv[1:], talk=True)))
