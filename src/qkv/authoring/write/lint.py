"""The authors' gate: every exercise is proven on every run, not reviewed.

The stub is "not started"; under twenty salts the reference and every right sample answer pass, each misconception fails
clearly and is diagnosed as itself, every wrong sample answer fails with always the same diagnosis; a table of the
answers to one salt earns nothing under another; hints, docstrings and sections are there; and small damage to the
reference is noticed by some probe. Each mistake is held against a second spelling of itself (`second_spelling`).
"""

from __future__ import annotations

import inspect
import linecache
import multiprocessing
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from tqdm import tqdm

from proctor import Examiner, Exercise, Result, WeightsExercise, WeightsJudge
from proctor.examining.compare import ComparableObservation
from proctor.examining.exercise import Question
from proctor.examining.mutate import Survey, survey
from proctor.examining.tensor_file import read_tensors, write_tensors
from proctor.examining.weights import REASONS
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import Observation, observe
from proctor.inside.warmup import meta_kernels, stub_compiler
from proctor.marking import probe_pickle
from proctor.source.statements import statements
from qkv import exercises
from qkv.authoring.build.building import build_editions
from qkv.authoring.build.chapter import Task, read_chapter
from qkv.authoring.build.definitions import definition
from qkv.authoring.write.new import MARK
from qkv.authoring.write.sample_answers import SampleAnswer, sample_answers, sample_weights
from qkv.authoring.write.second_spelling import second_spellings, visible
from qkv.course import AuthoringError, Chapter, Course
from qkv.notebook.checking import live_marker

PAIRS = 2  # sets of inputs on which two mistakes at once are looked for: there are hundreds of pairs
SALTS = 20  # sets of inputs: what one draw in twenty misses, lint should see
CLEARLY = 100  # tolerances
NOTICED = 0.98
FEWEST_HINTS, FEWEST_MISCONCEPTIONS = 3, 5


@dataclass
class Finding:
    """The findings of lint about one exercise."""

    exercise: str
    probes: int  # number of probes or measures
    misconceptions: int  # number of named mistakes
    pairs: int = 0  # number of pairs that can be made together
    survey: Survey | None = None  # mutants; None if they were not run
    visible: int = 0  # number of mistakes that show in values
    alone: list[str] = field(default_factory=list)  # those of them that no second spelling equals
    complaints: list[str] = field(default_factory=list)  # one sentence each

    def row(self) -> str:
        found = self.survey
        counts = f"{found.noticed}/{found.noticed + len(found.missed)} {found.share:6.1%}" if found else "not run"
        equal = f" +{found.accepted} equal" if found and found.accepted else ""
        verdict = "ok" if not self.complaints else f"{len(self.complaints)} to mend"
        twice = f"{self.visible - len(self.alone)}/{self.visible}" if self.visible else "-"
        sizes = f"{self.probes:6} {self.misconceptions:14} {twice:>7} {self.pairs:5}"
        return f"{self.exercise:32} {sizes}   {counts:16}{equal:10} {verdict}"


HEADER = (
    f"{'exercise':32} {'probes':>6} {'misconceptions':>14} {'twice':>7} {'pairs':>5}   {'mutants noticed':26} verdict"
)


def run_lint(names: list[str] | None = None, salts: int = SALTS, jobs: int | None = None, alone: bool = False) -> int:
    """Lint the named exercises or chapters, or all; print a table. Returns 0 if there are no complaints.

    Args:
        alone: also list the mistakes that no second spelling equals.
    """
    chosen = [found for name in names for found in expand(name)] if names else exercises.names()
    workers = min(jobs or os.cpu_count() or 1, len(chosen) or 1)  # a new chapter has no exercise yet
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    with ProcessPoolExecutor(workers, context, configure_worker) as pool:
        freshness = pool.submit(what_is_stale, sorted({exercises.chapter_of(name) for name in chosen}))
        waiting = pool.map(lint_named, chosen, [salts] * len(chosen))
        bar = tqdm(
            waiting, total=len(chosen), desc="lint", unit="exercise", leave=False, disable=not sys.stderr.isatty()
        )
        findings = list(bar)
        stale, said = freshness.result()
    print(HEADER)
    for finding in findings:
        print(finding.row())
    for finding in findings:
        for complaint in finding.complaints:
            print(f"{finding.exercise}: {complaint}")
    bad = sum(bool(f.complaints) for f in findings)
    print(f"{len(findings) - bad} of {len(findings)} exercises are in order.")
    print("\n".join(said))
    seen, lonely = sum(f.visible for f in findings), sum(len(f.alone) for f in findings)
    print(f"{seen - lonely} of {seen} mistakes that show in values are proved twice; --alone lists the others.")
    for finding in findings if alone else ():
        print(*(f"{finding.exercise}: {name} equals no second spelling" for name in finding.alone), sep="\n")
    return 1 if bad or stale else 0


def what_is_stale(stems: list[str]) -> tuple[int, list[str]]:
    """The exit code and the lines of `qkv build --check` for these chapters."""
    said: list[str] = []
    return build_editions(stems, check=True, say=said.append), said


def expand(name: str) -> tuple[str, ...]:
    """The exercise of that name, or all exercises of the chapter with that stem."""
    return exercises.names_of(name) if name in exercises.CHAPTERS else (exercises.get(name).name,)


def configure_worker() -> None:
    """Configure a worker process: one thread, since there are as many workers as cores; the grader's meta kernels,
    which save a fifth of the time."""
    import torch

    torch.set_num_threads(1)
    stub_compiler.leave_out()
    meta_kernels.prefer_kernels()


def lint_named(name: str, salts: int) -> Finding:
    """`lint` by name, for a worker process: the finding comes without the code of mutants, which cannot be pickled."""
    if name in exercises.of_weights():
        return lint_weights(exercises.get_weights(name), salts)
    finding = lint(exercises.get_code(name), salts)
    if finding.survey is not None:
        missed = tuple(replace(mutant, implementation=print) for mutant in finding.survey.missed)
        finding.survey = replace(finding.survey, missed=missed)
    return finding


class CachedMistakes(Examiner):
    """An examiner that runs a mistake of the course once although two examiners need it: the one with these inputs, and
    the one that has them as its other inputs."""

    def __init__(self, exercise: Exercise, salt: str, pairs: bool) -> None:
        super().__init__(exercise, salt, pairs)
        self._known = {mistake.implementation for mistake in exercise.misconceptions.values()}
        self._seen: dict[Any, dict[str, Observation]] = {}

    def observations(self, implementation: Any) -> dict[str, Observation]:
        if implementation not in self._known:
            return super().observations(implementation)
        if implementation not in self._seen:
            self._seen[implementation] = super().observations(implementation)
        return self._seen[implementation]


def lint(exercise: Exercise, salts: int = SALTS, answers: Path | None = None) -> Finding:
    """All checks of one exercise.

    Args:
        salts: how many sets of inputs it is proved on.
        answers: the folder of sample answers; the repository's own unless said.
    """
    finding = Finding(exercise.name, len(exercise.probes), len(exercise.misconceptions))
    examiners = [CachedMistakes(exercise, f"salt {n}" if n else "", pairs=n < PAIRS) for n in range(salts)]
    for n, examiner in enumerate(examiners if salts > 1 else ()):
        examiner.other_inputs = examiners[(n + 1) % salts]  # instead of a set of its own: half as much to run
    finding.complaints += [*static_complaints(exercise), *unstarted_stub(exercise, examiners[0])]
    finding.complaints += merged_complaints(behaviour(exercise, examiner) for examiner in examiners)
    finding.complaints += proof_by_answers(exercise, examiners, answers or Course.here().root / "answers")
    if salts > 1:
        finding.complaints += table_of_constants(exercise, *examiners[:2])
    examiner = examiners[0]
    spelled = second_spellings(
        examiner, [a for a in sample_answers(answers or Course.here().root / "answers") if a.exercise == exercise.name]
    )
    seen = [mistake.name for mistake in visible(examiner)]
    finding.visible, finding.alone = len(seen), [name for name in seen if name not in spelled]
    finding.pairs = sum(exercise.both(a, b) is not None for a, b in combinations(exercise.misconceptions.values(), 2))
    finding.survey = survey(exercise, examiner)
    finding.complaints += [f"declared equivalent, but noticed or gone: {m}" for m in finding.survey.stale]
    if finding.survey.share < NOTICED:
        finding.complaints += [f"no probe notices: line {m.line}: {m.damage}" for m in finding.survey.missed]
    return finding


def lint_weights(exercise: WeightsExercise, salts: int = SALTS, answers: Path | None = None) -> Finding:
    """All checks of a weights exercise: under every salt right sample weights pass, and each mistake is named, in
    sample weights or in weights made from right ones."""
    finding = Finding(exercise.name, len(exercise.measures), len(exercise.misconceptions) + len(REASONS))
    finding.complaints += missing_words(exercise)
    weights_judges = [WeightsJudge(exercise, f"salt {n}" if n else "") for n in range(salts)]
    finding.complaints += merged_complaints(
        proof_by_weights(weights_judge, answers or Course.here().root / "answers") for weights_judge in weights_judges
    )
    return finding


def proof_by_weights(weights_judge: WeightsJudge, folder: Path) -> Iterator[str]:
    """Wrong verdicts under one salt, and mistakes that no sample shows."""
    exercise, wrong = weights_judge.exercise, []
    right = list(sample_weights(folder, exercise.name, "right"))
    if not right:
        yield f"no right weights are kept: put some into answers/{exercises.chapter_of(exercise.name)}/right/"
        return
    for path in right:
        result = weights_judge.judge(path.read_bytes())
        if result.state != "passed":
            yield f"{path.name} does not pass: {result.message}"
    model = read_tensors(right[0].read_bytes(), exercise.layout)
    wrong += [(mistake, name, write_tensors(make(model))) for name, (mistake, make) in exercise.examples.items()]
    for path in sample_weights(folder, exercise.name, "wrong"):
        wrong.append((path.stem.split("-")[1], path.name, path.read_bytes()))
    for mistake, name, content in wrong:
        result = weights_judge.judge(content)
        if result.misconceptions != (mistake,):
            yield f"{name} is told {' + '.join(result.misconceptions) or None}, expected {mistake}: {result.message}"
    shown = {mistake for mistake, _, _ in wrong}
    for name in (*exercise.misconceptions, *REASONS):
        if name not in shown:
            yield f"nothing shows {name}: keep weights that make this mistake, or make them from right ones"


def merged_complaints(complaints: Iterable[Iterable[str]]) -> Iterator[str]:
    """The complaints of all salts, each once, with the number of salts it occurred under."""
    counts: Counter[str] = Counter()
    total = 0
    for found in complaints:
        counts.update(set(found))
        total += 1
    for complaint, count in counts.items():
        yield complaint if count == total else f"{complaint} (under {count} of {total} salts)"


def missing_words(exercise: Question) -> Iterator[str]:
    """Missing texts that a student would read, whatever kind of answer the exercise takes."""
    hints = [h for h in exercise.hints if h.strip()]
    if len(hints) < FEWEST_HINTS or len(hints) != len(exercise.hints):
        yield f"{len(hints)} hints; write at least {FEWEST_HINTS}, none empty"
    if len(exercise.misconceptions) < FEWEST_MISCONCEPTIONS:
        yield f"{len(exercise.misconceptions)} misconceptions; write at least {FEWEST_MISCONCEPTIONS}"
    if exercise.minutes is None or exercise.difficulty is None or not exercise.why:
        yield "say what it takes and why: minutes=…, difficulty=… (1, 2 or 3) and why=… (what a student has won)"
    for mistake in exercise.misconceptions.values():
        if not mistake.explanation.reason:
            yield f"{mistake.name} does not say why it matters (second paragraph of its docstring)"
    try:
        if exercise.section not in headings(chapter(exercise).source):
            yield f"{chapter(exercise).where()} has no section {exercise.section!r}"
        yield from out_of_order(chapter(exercise).stem)
    except AuthoringError as error:
        yield str(error)


def static_complaints(exercise: Exercise) -> Iterator[str]:
    """Complaints that need no run."""
    yield from missing_words(exercise)
    if not any(p.kind == "value" for p in exercise.probes.values()):
        yield "no value probe"
    yield from shapes(exercise)
    yield from without(exercise)
    yield from todo_left(exercise)
    yield from clashes(Path(inspect.getfile(sys.modules[next(iter(exercise.probes.values())).function.__module__])))
    try:
        probe_pickle.check_portable(exercise)
    except probe_pickle.NotPortable as error:
        yield str(error)


def without(exercise: Exercise) -> Iterator[str]:
    """Every forbidden thing is named in the docstring, which is all that somebody reads who works in an editor."""
    said = " ".join((inspect.getdoc(exercise.reference) or "").split())
    for family in exercise.forbid:
        if family.title not in said:
            yield f'the docstring does not say what is forbidden: "To be written without {family.title}."'


def todo_left(exercise: Exercise) -> Iterator[str]:
    """Text of `qkv new exercise` that its author has not replaced."""
    words = [exercise.section, exercise.why, *exercise.hints, inspect.getdoc(exercise.reference) or ""]
    words += [probe.situation for probe in exercise.probes.values()]
    words += [text for m in exercise.misconceptions.values() for text in (m.explanation.sentence, m.explanation.reason)]
    count = sum(MARK in text for text in words)
    if count:
        yield f"{count} places still say {MARK}"


def clashes(path: Path) -> Iterator[str]:
    """Names that an exercise's file binds twice: a mistake or a helper would hide the reference without a word."""
    lines: dict[str, list[int]] = {}
    for statement in statements(path.read_text(encoding="utf-8")):
        for name in statement.binds - statement.names.changes:
            lines.setdefault(name, []).append(statement.node.lineno)
    for name, where in lines.items():
        if len(where) > 1:
            numbers = " and ".join(map(str, where))
            yield f"{path.name} binds {name} in lines {numbers}: the later one hides the first; rename it"


@cache
def out_of_order(stem: str) -> tuple[str, ...]:
    """A complaint if the chapter has its exercises in another order than its package lists them."""
    course = Course.here()
    found = [part.name for part in read_chapter(course.chapters([stem])[0], course) if isinstance(part, Task)]
    listed = list(exercises.names_of(stem))
    if found == listed:
        return ()
    place = f"src/qkv/exercises/{stem}/__init__.py"
    return (f"{place} lists {', '.join(listed)}; the chapter has {', '.join(found)}. Give both one order.",)


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


def chapter(exercise: Question) -> Chapter:
    return Course.here().chapters([exercises.chapter_of(exercise.name)])[0]


def headings(source: Path) -> set[str]:
    return {
        line.lstrip("#").strip() for line in source.read_text(encoding="utf-8").splitlines() if line.startswith("#")
    }


def unstarted_stub(exercise: Exercise, examiner: Examiner) -> Iterator[str]:
    """The student's starting point must be recognised as such."""
    module = sys.modules[exercise.reference.__module__]
    stub = definition(Path(inspect.getfile(module)), exercise.name).stub
    namespace = dict(vars(module))
    label = f"<stub of {exercise.name}>"
    linecache.cache[label] = (len(stub), None, stub.splitlines(keepends=True), label)  # a verdict quotes the line
    exec(compile(stub, label, "exec", dont_inherit=True), namespace)
    result = examiner.examine(namespace[exercise.name])
    if result.state != "not_started":
        yield f"the stub is {result.state}, expected not_started: {result.message}"


def behaviour(exercise: Exercise, examiner: Examiner) -> Iterator[str]:
    """Complaints about verdicts on the reference and the mistakes, judged like a student's answer."""
    result = examiner.examine(exercise.reference)
    if result.state != "passed":
        yield f"the reference is {result.state}: {result.message}"
    if exercise.in_steps is not None and examiner.examine(exercise.in_steps).state != "passed":
        yield "the assembled reference does not agree with the reference"
    for mistake in exercise.misconceptions.values():
        if not examiner.clearly_differs(mistake, CLEARLY):
            yield f"{mistake.name} is less than {CLEARLY} tolerances away from the reference"
        if examiner.pairs:
            result = examiner.examine(mistake.implementation)
            found, headline = result.misconceptions, f" ({result.headline})"
        else:
            found, headline = examiner.diagnosed_as(mistake), ""
        if found != (mistake.name,):
            yield f"{mistake.name} is diagnosed as {' + '.join(found) or None}{headline}"


def proof_by_answers(exercise: Exercise, examiners: Sequence[Examiner], folder: Path) -> Iterator[str]:
    """Complaints unless every right sample answer passes under every salt, and every wrong one fails with always the
    same diagnosis."""
    answers = [answer for answer in sample_answers(folder) if answer.exercise == exercise.name]
    for kind in ("right", "wrong"):
        if not any(answer.kind == kind for answer in answers):
            place = f"answers/{exercises.chapter_of(exercise.name)}/{kind}/"
            yield f"no {kind} answer is kept: write one, as a student would, into {place}"
    for answer in answers:
        results = [judged(answer, examiner) for examiner in examiners]
        failed = [result.message for result in results if result.state != "passed"]
        passed = len(examiners) - len(failed)
        if answer.kind == "right" and failed:
            yield f"{answer} passes under {passed} of {len(examiners)} salts only: {failed[0]}"
        if answer.kind == "wrong" and passed:
            yield f"{answer} passes under {passed} of {len(examiners)} salts"
        diagnoses = [result.misconceptions for result in results]
        alone = [
            names if len(names) < 2 else () for names in diagnoses
        ]  # two at once are looked for under a few salts only
        for names in (diagnoses[:PAIRS], alone):
            if answer.kind == "wrong" and len(set(names)) > 1:
                yield f"{answer} is not always told the same: {dict(Counter(names))}"


def judged(answer: SampleAnswer, examiner: Examiner) -> Result:
    """The verdict on a sample answer, as a notebook gives it."""
    marker = live_marker(answer.exercise, answer.implementation, examiner)
    marker.mark()
    return marker.results[answer.exercise]


def table_of_constants(exercise: Exercise, one: Examiner, another: Examiner) -> Iterator[str]:
    """Complaints about value probes that a table of the reference's results under another salt would pass."""
    for name, probe in exercise.probes.items():
        if probe.kind == "value":
            with drawing(Replay(one.draws)):
                table = Table(exercise.reference)
                observe(probe.function, table.recording())
            with drawing(Replay(another.draws)):
                seen = observe(probe.function, table.replaying())
            if another.expected[name].same(ComparableObservation(seen)):
                yield f"a table of constants answers the probe {name}: draw its inputs (sizes too) from the salt"


class Table:
    """Remembers what an implementation returned, call by call, and returns it again."""

    def __init__(self, implementation: Any) -> None:
        self.implementation = implementation
        self.returned: list[Any] = []

    def recording(self) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            self.returned.append(self.implementation(*args, **options))
            return self.returned[-1]

        return self._like_it(
            call,
            lambda layer, *args, **options: type(layer).__mro__[1].__call__(layer, *args, **options),
            self.returned.append,
        )

    def replaying(self) -> Any:
        left = iter(self.returned)

        def call(*args: Any, **options: Any) -> Any:
            return next(left)

        return self._like_it(call, lambda layer, *args, **options: next(left), None)

    def _like_it(self, function: Any, method: Any, note: Any) -> Any:
        """A function, or for a class one whose instances answer as `method` does."""
        if not inspect.isclass(self.implementation):
            return function

        def call(layer: Any, *args: Any, **options: Any) -> Any:
            found = method(layer, *args, **options)
            if note is not None:
                note(found)
            return found

        return type(self.implementation.__name__, (self.implementation,), {"__call__": call})
