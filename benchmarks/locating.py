"""How many of the wrong answers that we keep are helped: named, explained, or located, and what a search costs.

The answers are split in two by a hash of their path: what is tuned looks at "tuned"; "held back" is what counts.

    python benchmarks/locating.py [tuned|held|all] [PART OF A PATH]
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from statistics import median

import torch

from proctor import Examiner, Result
from proctor.locate.where import lacks_a_line
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.locating import Locating
from proctor.marking.submissions import read
from qkv import exercises
from qkv.authoring.write.sample_answers import kept
from qkv.notebook.checking import judged_in_process

ANSWERS = Path(__file__).resolve().parents[1] / "answers"
SALT = "kept answers"


def half_of(path: Path) -> str:
    """In which half an answer is; a file's answers are all in the same."""
    name = path.relative_to(ANSWERS).as_posix()
    return ("tuned", "held")[hashlib.sha256(name.encode()).digest()[0] % 2]


def main(which: str = "all", part: str = "") -> None:
    torch.set_num_threads(1)
    examiners = {name: Examiner(exercises.get_code(name), SALT) for name in exercises.names()}
    before: dict[str, Counter[str]] = {"tuned": Counter(), "held": Counter()}
    after: dict[str, Counter[str]] = {"tuned": Counter(), "held": Counter()}
    took: list[float] = []
    for path, answers in groupby(kept(ANSWERS, "wrong"), key=lambda answer: answer.path):
        half = half_of(path)
        if which not in ("all", half) or part not in str(path):
            continue
        found = {answer.exercise for answer in answers}
        names = [name for name in exercises.names() if name in found]
        chosen = {name: examiners[name] for name in names}
        submission = Answers([extract(read(path.name, path))])
        plain = {r.exercise: r for r in judged_in_process(submission, names, chosen)}
        began, searched = time.process_time(), sum(lacks_a_line(r) for r in plain.values())
        results = judged_in_process(submission, names, chosen, Locating(reveal=True)) if searched else plain.values()
        took += [(time.process_time() - began) / searched] * searched if searched else []
        for result in results:
            before[half][helped(plain[result.exercise])] += 1
            how = helped(result)
            after[half][how] += 1
            if plain[result.exercise].help is None:
                print(f"{path.relative_to(ANSWERS)} {result.exercise}: {how}: {result.line}: {said(result)}")
    for half in before:
        if before[half]:
            print(f"{half:6} before: {shares(before[half])}")
            print(f"{half:6} after:  {shares(after[half])}")
    if took:
        took.sort()
        print(f"seconds for one answer: {median(took):.2f} in the middle, {took[int(0.9 * len(took))]:.2f} nine in ten")


def helped(result: Result) -> str:
    if result.located is not None:
        return f"located by {result.located.by}"
    if result.help == "located":
        return "stopped, with the line"
    return f"{result.help or 'nothing'}{', with the line' if result.line and result.help == 'explained' else ''}"


def said(result: Result) -> str:
    located = result.located
    if located is None:
        return ""
    return f"{located.kind}: {located.old!r}" + (f" -> {located.new!r}" if located.new else "")


def shares(counts: Counter[str]) -> str:
    total = sum(counts.values())
    return f"{total} answers; " + ", ".join(f"{how} {n} ({n / total:.1%})" for how, n in sorted(counts.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
