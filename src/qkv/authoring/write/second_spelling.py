"""A mistake is proved twice: code that its author did not write has to do the same.

A misconception is a wrong answer that one author wrote, and its card is read by whoever's tensors equal it. If it does
not do what its sentence says, nobody ever hears it, and no other check of an exercise would notice. So each is held
against spellings of others: right code with one small edit, made by machine, and the wrong answers that are kept. What
equals none of them may be rare, or be no answer that anybody would write: `qkv lint --alone` lists those.
"""

from __future__ import annotations

import ast
import inspect
import io
import runpy
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from itertools import islice
from typing import Any

from proctor.examining.compare import ComparableObservation
from proctor.examining.diagnose import Examiner
from proctor.examining.exercise import Exercise, Misconception
from proctor.examining.mutate import bare, mutants
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import Observation, fresh_state, observe
from proctor.inside.rlimits import memory_limit
from proctor.inside.time_limit import TimeLimit, time_limit
from proctor.locate.edits import edits
from proctor.locate.source import EditableDefinition, applied, parameters
from qkv.authoring.write.sample_answers import SampleAnswer

MEMORY = 512  # megabytes more than there are: an edit may ask for a huge tensor
MOST = 1500  # spellings that are tried: answers, then edits of the reference, then edits of right answers
SECONDS = 0.5  # of processor time for one spelling under one probe: an edit may never end
VALUES = ("-1", "-2", "0", "1", "True", "False", "None")  # that somebody writes who does not look at an argument
Spelling = tuple[str, Callable[[], Any]]  # in words, and what makes the implementation


def second_spellings(examiner: Examiner, answers: Sequence[SampleAnswer]) -> dict[str, str]:
    """The mistakes that another spelling equals, with its words, of those that show in values.

    Args:
        answers: the sample answers to this exercise.
    """
    left = {m.name: m for m in visible(examiner)}
    found: dict[str, str] = {}
    for words, make in islice(spellings(examiner.exercise, answers), MOST):
        if not left:
            break
        try:
            with time_limit(SECONDS), redirect_stdout(io.StringIO()):
                implementation = make()
        except (Exception, TimeLimit):
            continue  # no code
        with memory_limit(MEMORY), redirect_stdout(io.StringIO()):
            same = equals(examiner, implementation, left.values())
        for mistake in same:
            found[mistake.name] = words
            del left[mistake.name]
    return found


def visible(examiner: Examiner) -> list[Misconception]:
    """The mistakes that show in the values of an answer, and not in its properties alone."""
    values = [probe for probe in examiner.exercise.counted().values() if probe.kind == "value"]
    mistakes = examiner.exercise.misconceptions.values()
    with fresh_state():
        return [
            m
            for m in mistakes
            if not all(examiner.expected[p.name].same(examiner.observe_mistake((m,), p)) for p in values)
        ]


def spellings(exercise: Exercise, answers: Sequence[SampleAnswer]) -> Iterator[Spelling]:
    """Wrong code that the author of the mistakes did not write."""
    module = sys.modules[exercise.reference.__module__]
    for answer in answers:
        if answer.kind == "wrong":
            yield str(answer), partial(getattr, answer, "implementation")
    for mutant in mutants(exercise.reference):
        yield f"the reference, {mutant.damage}", partial(getattr, mutant, "implementation")
    yield from edited(bare_text(exercise.reference), lambda: dict(vars(module)), exercise.name, "the reference")
    for answer in answers:
        if answer.kind == "right":
            run = partial(runpy.run_path, str(answer.path))
            yield from edited(own_text(answer), run, answer.exercise, str(answer))


def bare_text(reference: Any) -> str:
    """The text of a reference without what refuses bad input, and without docstrings."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(reference)))).body[0]
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    bare(definition)
    return ast.unparse(ast.fix_missing_locations(definition))


def own_text(answer: SampleAnswer) -> str:
    """The text of an answer's own definition in its file; empty if it is none, such as a call."""
    tree = ast.parse(answer.path.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef
    return next((ast.unparse(n) for n in tree.body if isinstance(n, kinds) and n.name == answer.exercise), "")


def edited(text: str, namespace: Callable[[], dict[str, Any]], name: str, of: str) -> Iterator[Spelling]:
    """Every small edit of a definition."""
    try:
        definition = EditableDefinition(text)
    except SyntaxError:
        return
    known: dict[str, Any] = {}

    def make(changed: str) -> Any:
        if not known:
            known.update(namespace())
        names = dict(known)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # that an edit looks wrong is no news
            exec(compile(changed, "<spelling>", "exec", dont_inherit=True), names)
        return names[name]

    seen = {text}
    changes = [(f"{e.old!r} as {e.new!r}", applied(text, e)) for e in edits(definition)]
    for words, changed in [*never_read(text), *changes]:
        if changed not in seen:
            seen.add(changed)
            yield f"{of}, {words}", partial(make, changed)


def never_read(text: str) -> Iterator[tuple[str, str]]:
    """The text with an argument that is not looked at: another value stands in its place."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            lines = text.split("\n")
            first = node.body[0]
            arguments = [*node.args.posonlyargs, *node.args.args]
            values = dict(zip((a.arg for a in reversed(arguments)), reversed(node.args.defaults), strict=False))
            for name in parameters(node):
                for value in (*VALUES, *([ast.unparse(values[name])] if name in values else [])):
                    put = f"{' ' * first.col_offset}{name} = {value}"
                    yield (
                        f"{name} always {value}",
                        "\n".join([*lines[: first.lineno - 1], put, *lines[first.lineno - 1 :]]),
                    )


def equals(examiner: Examiner, implementation: Any, mistakes: Iterable[Misconception]) -> list[Misconception]:
    """The mistakes that do what an implementation does on every probe of values, where that is not what is right."""
    left, wrong = list(mistakes), False
    with drawing(Replay(examiner.draws)), fresh_state():
        for probe in examiner.exercise.counted().values():
            if probe.kind != "value":
                continue
            seen = ComparableObservation(observed(probe.function, implementation))
            left = [m for m in left if examiner.observe_mistake((m,), probe).same(seen)]
            wrong = wrong or (seen.values is not None and not examiner.expected[probe.name].same(seen))
            if not left:
                return []
    return left if wrong else []


def observed(probe: Callable[..., Any], implementation: Any) -> Observation:
    try:
        with time_limit(SECONDS):
            return observe(probe, implementation)
    except TimeLimit:
        return Observation(None)
