"""Where a mistake without a name is: first by trace, which tells where to begin, then by repair, then in words."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from proctor.examining.diagnose import Examiner
from proctor.examining.result import Explanation, Located, Result
from proctor.locate import words
from proctor.locate.repair import Bench, Budget, Repair, Seen, failing, passing, repair
from proctor.locate.trace import Parting, RightValues, Watched, other_ways, parting, right_values, same_variables

STATEMENTS = ("Assign", "AugAssign", "Expr")  # which change what a variable holds
FOR_A_PROPERTY = 300  # edits that are tried where the card says what is the matter already
MOST_PASSED = 3  # probes that are looked at, of those that an answer passes
MOST_FAILED = 4  # and of those that it fails


@dataclass(frozen=True)
class Text:
    """A cell that may be edited: its text, each line at its own number, and how to speak of a line in it."""

    source: str
    elsewhere: str = ""  # " of cell 3 of work.ipynb", if it is not where the answer itself is

    def line(self, number: int) -> str:
        return f"line {number}{self.elsewhere}"

    def code(self, number: int) -> str:
        lines = self.source.split("\n")
        return words.short(lines[number - 1]) if 0 < number <= len(lines) else ""


@dataclass(frozen=True)
class Answer:
    """An answer whose mistake has no name: what was seen of it, and the cells that may be edited, its own first."""

    seen: Seen
    texts: Mapping[str, Text]


@dataclass
class Rights:
    """What is known of right solutions, computed once for a class."""

    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: dict[tuple[int, str], RightValues | None] = field(default_factory=dict)

    def source(self, examiner: Examiner) -> tuple[str, ...]:
        name = examiner.exercise.name
        if name not in self.sources:
            try:
                text = textwrap.dedent(inspect.getsource(inspect.unwrap(examiner.exercise.reference)))
                self.sources[name] = (text,)
            except (OSError, TypeError):
                self.sources[name] = ()
        return self.sources[name]

    def value(self, examiner: Examiner, probe: str) -> RightValues | None:
        key = id(examiner), probe
        if key not in self.values:
            self.values[key] = right_values(examiner, probe)
        return self.values[key]


def lacks_a_line(result: Result) -> bool:
    """Is an answer wrong, and nobody could say why; or a property that it lacks was named, and not the line?"""
    return result.state == "not_yet" and (result.help is None or is_of_a_property(result))


def is_of_a_property(result: Result) -> bool:
    return result.help == "explained" and result.line is None


def located(
    result: Result,
    examiner: Examiner,
    answer: Answer,
    bench: Bench,
    budget: Budget,
    rights: Rights,
    reveal: bool = False,
) -> Result:
    """The result with the line where the mistake is, if it was found.

    Args:
        reveal: keep the edit itself, for an author; students are not shown it.
    """
    fails = list(failing(examiner, answer.seen))
    if not fails or not answer.texts:
        return result
    if is_of_a_property(result):
        return with_line(result, examiner, answer, bench, budget, rights)
    parted, names = by_trace(examiner, answer, bench, rights, fails[0])
    where = ""
    for other in fails[1:MOST_FAILED] if parted is None else ():  # of many cases in one probe only the first are noted
        parted, _ = by_trace(examiner, answer, bench, rights, other)
        if parted is not None:
            where = examiner.exercise.probes[other].situation
            break
    texts = {label: text.source for label, text in answer.texts.items()}
    spot = None if parted is None else parted.spot
    found = repair(examiner, answer.seen, texts, rights.source(examiner), bench, budget, spot, names)
    if found is not None:
        return told_repair(result, answer.texts, found, reveal)
    if parted is not None:
        return told_parting(result, answer.texts, parted, where)
    return result


def with_line(
    result: Result, examiner: Examiner, answer: Answer, bench: Bench, budget: Budget, rights: Rights
) -> Result:
    """A result that says which property an answer lacks, with the line as well, if a small edit gives it back."""
    if any(seen.called for seen in answer.seen.values()):
        return result  # what it should do without is named, and an edit may not do with it either
    budget.candidates = min(budget.candidates, FOR_A_PROPERTY)
    texts = {label: text.source for label, text in answer.texts.items()}
    found = repair(examiner, answer.seen, texts, rights.source(examiner), bench, budget)
    if found is None or found.agree is not None:
        return result
    told = told_repair(result, answer.texts, found, reveal=False)
    return replace(result, line=told.line, steps=told.steps, explanations=(*result.explanations, *told.explanations))


def by_trace(
    examiner: Examiner, answer: Answer, bench: Bench, rights: Rights, failing: str
) -> tuple[Parting | None, dict[str, str]]:
    """Where the numbers part, on a probe that the answer fails; and which variables of ours are which of theirs."""
    right = rights.value(examiner, failing)
    if right is None:
        return None, {}
    watched = Watched()
    for label, text in answer.texts.items():
        try:
            watched.add(label, text.source)
        except (SyntaxError, ValueError, RecursionError):
            continue
    passed = passing(examiner, answer.seen)[:MOST_PASSED]
    (seen,) = bench.run([watched.cells], [failing, *passed], watched=True)
    if failing not in seen:
        return None, {}
    noted, name = seen[failing], examiner.exercise.name
    ways: frozenset[int] = frozenset()
    for probe in passed:
        values = rights.value(examiner, probe)
        if values is not None and probe in seen:
            ways |= other_ways(seen[probe], watched, values, name)
    return parting(noted, watched, right, name, ways), same_variables(noted, watched, right)


def told_repair(result: Result, texts: Mapping[str, Text], found: Repair, reveal: bool) -> Result:
    edits = found.candidate.edits
    label, first = edits[0]
    text = texts[label]
    if len(edits) == 1:
        sentence = words.one_change(
            text.line(first.line), text.code(first.line), first.kind, result.probes, found.agree
        )
    else:
        places = [(texts[where].line(edit.line), edit.kind) for where, edit in edits]
        sentence = words.two_changes(places, result.probes)
    steps = tuple(step for _, edit in edits for step in words.steps(words.short(edit.old), edit.kind))
    kind = " + ".join(edit.kind for _, edit in edits)
    told = Located("repair", kind, words.short(first.old, 200), first.new if reveal else "")
    return replace(
        result, help="located", line=first.line, explanations=(Explanation(sentence),), steps=steps, located=told
    )


def told_parting(result: Result, texts: Mapping[str, Text], parted: Parting, where: str = "") -> Result:
    """The result with the line where the numbers part; `where` is the situation, if it is not that of the evidence."""
    spot = parted.spot
    line = texts[spot.label].line(spot.line)
    steps: tuple[str, ...]
    if parted.on_the_way:
        sentence, steps = words.unfinished(line, words.short(spot.text)), words.UNFINISHED_STEPS
    else:
        holder = spot.assigned if spot.kind in STATEMENTS else ""
        sentence = words.parting(line, words.short(spot.text), parted.known, holder)
        steps = words.TRACE_STEPS if parted.known else words.TRACE_STEPS[1:]
    sentence += f" That is so on {where}." if where else ""
    told = Located("trace", spot.kind, words.short(spot.text, 200))
    return replace(
        result, help="located", line=spot.line, explanations=(Explanation(sentence),), steps=steps, located=told
    )
