"""`check(f)` looks for the line of a mistake that has no name, in the notebook's own process.

The answer is known as an object there; its text, and that of the functions of the same notebook or file that it uses,
is what is edited. Edited versions run in a copy of the notebook's namespace, so nothing of the student's changes.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from proctor import Examiner, Result
from proctor.forbid import Family
from proctor.inside.running import Cell, Job, Version
from proctor.locate.search import Budget, Cells, Seen
from proctor.locate.where import Answer, Rights, Text, lacks_a_line, located
from proctor.marking.in_process import InProcess

SECONDS = 2.0  # of processor time: somebody waits
MOST_PARTS = 12  # functions besides the answer's own
CHECKS = {"check", "check_named"}  # what would search within the search


@cache
def rights() -> Rights:
    """What right solutions are and do, computed once in a kernel."""
    return Rights()


def with_line(
    result: Result, answer: Any, examiner: Examiner, namespace: Mapping[str, Any], parts: Mapping[str, Any]
) -> Result:
    """The result with the line of its mistake, if it has none and the line is found. An interrupt ends the
    search, and the result is as it was.

    Args:
        namespace: the globals that the answer's code sees.
        parts: what is the reference's while the answer is judged.
    """
    if not lacks_a_line(result):
        return result
    texts = {f"cell {i}": text for i, text in enumerate(texts_of(answer, namespace, parts))}
    if not texts:
        return result
    progress = Progress()
    budget = Budget(candidates=10_000, seconds=SECONDS, tell=progress.tell)
    bench = NotebookBench(examiner, texts, {**namespace, **parts}, budget)
    try:
        (seen,) = bench.run([{}], list(examiner.exercise.probes))
        return located(result, examiner, Answer(seen, texts), bench, budget, rights())
    except KeyboardInterrupt:
        return result
    finally:
        progress.end()


def texts_of(answer: Any, namespace: Mapping[str, Any], parts: Mapping[str, Any]) -> Iterator[Text]:
    """The text of an answer and of what it uses of the same notebook or file, each line at its own number."""
    waiting, known = [answer], {answer.__name__, *parts}
    file = file_of(answer)
    while waiting and len(known) < MOST_PARTS + len(parts):
        here = waiting.pop(0)
        try:
            lines, first = inspect.getsourcelines(here)
        except (OSError, TypeError):
            continue
        text = textwrap.dedent("".join(lines))
        if not only_defines(text):
            continue
        where = "" if file_of(here) == file else f" of `{here.__name__}`"
        yield Text("\n" * (max(first, 1) - 1) + text, where)
        for name in dict.fromkeys(word for word in names_in(text) if word in namespace and word not in known):
            other = namespace[name]
            written_here = getattr(other, "__module__", None) == getattr(answer, "__module__", "")
            if callable(other) and written_here and getattr(other, "__name__", None) == name:
                known.add(name)
                waiting.append(other)


def only_defines(text: str) -> bool:
    """Is this a definition and nothing else? To run the line of a lambda that is handed to `check` would check again,
    and again."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return False
    kinds = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
    return all(isinstance(node, kinds) for node in body) and not CHECKS & set(names_in(text))


def file_of(function: Any) -> str:
    try:
        return inspect.getsourcefile(inspect.unwrap(function)) or ""
    except TypeError:
        return ""


def names_in(text: str) -> Iterator[str]:
    try:
        yield from (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
    except SyntaxError:
        return


@dataclass
class NotebookBench:
    """Runs versions of an answer in a copy of the notebook's namespace."""

    examiner: Examiner
    texts: Mapping[str, Text]
    namespace: Mapping[str, Any]
    budget: Budget

    def run(
        self, versions: Sequence[Cells], probes: Sequence[str], *, again: bool = False, watched: bool = False
    ) -> list[Seen]:
        """See `proctor.locate.search.Bench`."""
        name = self.examiner.exercise.name
        examiner = self.examiner.other_inputs if again else self.examiner
        functions = {probe.name: probe.function for probe in self.examiner.exercise.probes.values()}
        runner = InProcess({name: functions}, lambda _: examiner.draws, names=self.namespace)
        asked = {f"{name} #{i}": Version(name, cells, watched) for i, cells in enumerate(versions)}
        forbid: tuple[Family, ...] = self.examiner.exercise.forbid
        job = Job(
            cells=[Cell(label, text.source) for label, text in reversed(list(self.texts.items()))],
            exercises={key: list(probes) for key in asked},
            forbid={name: forbid},
            versions=asked,
        )
        run = runner.run(job)
        self.budget.used += run.seconds
        return [run.outcomes.get(key, {}) for key in asked]


class Progress:
    """One line that says what takes so long, and goes away."""

    def __init__(self) -> None:
        self.shown = False

    def tell(self, tried: int) -> None:
        self.shown = True
        print(f"\rLooking for the line: {tried} small changes tried …", end="", flush=True, file=sys.stderr)

    def end(self) -> None:
        if self.shown:
            print("\r" + " " * 60 + "\r", end="", flush=True, file=sys.stderr)
