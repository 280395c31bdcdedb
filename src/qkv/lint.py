"""The authors' gate: every exercise is proven on every run, not reviewed.

The stub is "not started", the reference passes, each misconception fails clearly and is diagnosed as itself, under
several salts; hints,
docstrings and sections are there; and small damage to the reference is noticed by some probe.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from tqdm import tqdm

from proctor import Examiner, Exercise, portable
from proctor.mutate import Survey, survey
from qkv import exercises
from qkv.authoring.course import AuthoringError, Chapter, Course
from qkv.authoring.definitions import definition

SALTS = ("", "one", "another")
CLEARLY = 100  # tolerances
NOTICED = 0.98
FEWEST_HINTS, FEWEST_MISCONCEPTIONS = 3, 5


@dataclass
class Finding:
    """What lint has to say about one exercise."""

    exercise: str
    probes: int
    misconceptions: int
    pairs: int = 0
    survey: Survey | None = None
    complaints: list[str] = field(default_factory=list)

    def row(self) -> str:
        found = self.survey
        counts = f"{found.noticed}/{found.noticed + len(found.missed)} {found.share:6.1%}" if found else "not run"
        equal = f" +{found.accepted} equal" if found and found.accepted else ""
        verdict = "ok" if not self.complaints else f"{len(self.complaints)} to mend"
        sizes = f"{self.probes:6} {self.misconceptions:14} {self.pairs:5}"
        return f"{self.exercise:32} {sizes}   {counts:16}{equal:10} {verdict}"


HEADER = f"{'exercise':32} {'probes':>6} {'misconceptions':>14} {'pairs':>5}   {'mutants noticed':26} verdict"


def run(names: list[str] | None = None) -> int:
    """Lint the named exercises or chapters, or all; print a table; 0 if nothing is to mend."""
    chosen = [e for name in names for e in expand(name)] if names else [exercises.find(n) for n in exercises.names()]
    findings = [
        lint(e) for e in tqdm(chosen, desc="lint", unit="exercise", leave=False, disable=not sys.stderr.isatty())
    ]
    print(HEADER)
    for finding in findings:
        print(finding.row())
    for finding in findings:
        for complaint in finding.complaints:
            print(f"{finding.exercise}: {complaint}")
    bad = sum(bool(f.complaints) for f in findings)
    print(f"{len(findings) - bad} of {len(findings)} exercises are in order.")
    return 1 if bad else 0


def expand(name: str) -> list[Exercise]:
    """A chapter's stem stands for all its exercises."""
    return exercises.chapters()[name] if name in exercises.CHAPTERS else [exercises.find(name)]


def lint(exercise: Exercise) -> Finding:
    finding = Finding(exercise.name, len(exercise.probes), len(exercise.misconceptions))
    finding.complaints += [*form(exercise), *unstarted_stub(exercise)]
    for salt in SALTS:
        examiner = Examiner(exercise, salt)
        finding.complaints += [f"{c} (salt {salt!r})" if salt else c for c in behaviour(exercise, examiner)]
    examiner = Examiner(exercise)
    finding.pairs = sum(exercise.both(a, b) is not None for a, b in combinations(exercise.misconceptions.values(), 2))
    finding.survey = survey(exercise, examiner)
    finding.complaints += [f"declared equivalent, but noticed or gone: {m}" for m in finding.survey.stale]
    if finding.survey.share < NOTICED:
        finding.complaints += [f"no probe notices: line {m.line}: {m.damage}" for m in finding.survey.missed]
    return finding


def form(exercise: Exercise) -> Iterator[str]:
    """What can be read off an exercise without running it."""
    hints = [h for h in exercise.hints if h.strip()]
    if len(hints) < FEWEST_HINTS or len(hints) != len(exercise.hints):
        yield f"{len(hints)} hints; write at least {FEWEST_HINTS}, none empty"
    if len(exercise.misconceptions) < FEWEST_MISCONCEPTIONS:
        yield f"{len(exercise.misconceptions)} misconceptions; write at least {FEWEST_MISCONCEPTIONS}"
    if not any(p.kind == "value" for p in exercise.probes.values()):
        yield "no value probe"
    for mistake in exercise.misconceptions.values():
        if not mistake.explanation.reason:
            yield f"{mistake.name} does not say why it matters (second paragraph of its docstring)"
    yield from shapes(exercise)
    try:
        if exercise.section not in headings(chapter(exercise).source):
            yield f"{chapter(exercise).where()} has no section {exercise.section!r}"
    except AuthoringError as error:
        yield str(error)
    try:
        portable.check(exercise)
    except portable.NotPortable as error:
        yield str(error)


def shapes(exercise: Exercise) -> Iterator[str]:
    """Every tensor argument's shape stands in parentheses in the docstring."""
    functions = [exercise.reference]
    if inspect.isclass(exercise.reference):
        functions = [f for n, f in vars(exercise.reference).items() if inspect.isfunction(f) and not n.startswith("_")]
    for function in functions:
        text = inspect.getdoc(function) or ""
        for name, parameter in inspect.signature(function).parameters.items():
            takes_tensor = re.match(r"Tensor\b", str(parameter.annotation))
            if takes_tensor and not re.search(rf"^\s*{name}: .*(\(.*\)|broadcast)", text, re.MULTILINE):
                yield f"the docstring of {function.__name__} does not give the shape of {name}"


def chapter(exercise: Exercise) -> Chapter:
    return Course.here().chapters([exercises.chapter_of(exercise.name)])[0]


def headings(source: Path) -> set[str]:
    return {
        line.lstrip("#").strip() for line in source.read_text(encoding="utf-8").splitlines() if line.startswith("#")
    }


def unstarted_stub(exercise: Exercise) -> Iterator[str]:
    """The student's starting point must be recognised as such."""
    module = sys.modules[exercise.reference.__module__]
    stub = definition(Path(inspect.getfile(module)), exercise.name).stub
    namespace = dict(vars(module))
    exec(compile(stub, f"<stub of {exercise.name}>", "exec"), namespace)
    result = Examiner(exercise).examine(namespace[exercise.name])
    if result.state != "not_started":
        yield f"the stub is {result.state}, expected not_started: {result.message}"


def behaviour(exercise: Exercise, examiner: Examiner) -> Iterator[str]:
    """What happens when the reference and the mistakes are checked like a student's answer."""
    result = examiner.examine(exercise.reference)
    if result.state != "passed":
        yield f"the reference is {result.state}: {result.message}"
    if exercise.in_steps is not None and examiner.examine(exercise.in_steps).state != "passed":
        yield "the assembled reference does not agree with the reference"
    for mistake in exercise.misconceptions.values():
        distance = examiner.distance(mistake)
        if distance < CLEARLY:
            yield f"{mistake.name} is {distance:.3g} tolerances away from the reference, expected at least {CLEARLY}"
        found = examiner.examine(mistake.implementation)
        if found.misconception != mistake.name:
            yield f"{mistake.name} is diagnosed as {found.misconception} ({found.headline})"
