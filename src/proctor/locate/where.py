"""The location of a mistake without a name: by trace, which says where to start, then by repair; then its wording."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from proctor.examining.diagnose import Examiner
from proctor.examining.result import Explanation, Help, Located, Result
from proctor.locate import words
from proctor.locate.chance import drawn_by
from proctor.locate.proof import Proof, ProofBench, proof
from proctor.locate.repair import Bench, Budget, Repair, Seen, failing, passing, repair
from proctor.locate.trace import (
    Divergence,
    InstrumentedCells,
    KnownValues,
    first_divergence,
    known_values,
    other_ways,
    same_variables,
)
from proctor.locate.unread import never_read
from proctor.locate.unused import never_used

STATEMENTS = ("Assign", "AugAssign", "Expr")  # which change what a variable holds
FOR_A_PROPERTY = 300  # edits that are tried where the card says what is the matter already
MOST_PASSED = 3  # probes that are looked at, of those that an answer passes
MOST_FAILED = 4  # and of those that it fails
MOST_UNUSED = 2  # variables that are remarked on
MOST_AGAIN = 3  # lines that are named because they hold the same


@dataclass(frozen=True)
class EditableCell:
    """A cell that may be edited: its text, each line at its own number, and the words for a line in it."""

    source: str
    elsewhere: str = ""  # " of cell 3 of work.ipynb", if it is not where the answer itself is

    def line(self, number: int) -> str:
        return f"line {number}{self.elsewhere}"

    def code(self, number: int, point: str = "") -> str:
        lines = self.source.split("\n")
        return words.short(lines[number - 1], point=point) if 0 < number <= len(lines) else ""

    def again(self, code: str, number: int) -> list[int]:
        """The other lines with this code, if it is one that is hardly there by chance: a call, or a fraction."""
        if len(code) < 4 or "\n" in code or not re.search(r"\w\(|\d\.\d|\de-", code):
            return []
        found = [n for n, line in enumerate(self.source.split("\n"), 1) if code in line and n != number]
        return found if len(found) <= MOST_AGAIN else []


@dataclass(frozen=True)
class UnexplainedAnswer:
    """An answer whose mistake has no name: its observations, and the cells that may be edited, its own first."""

    seen: Seen  # probe -> observation
    texts: Mapping[str, EditableCell]  # label -> cell


@dataclass
class ReferenceValues:
    """Sources and values of the reference solutions, cached for a class."""

    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)  # exercise -> texts of its right solutions
    # (id of the examiner, probe) -> values; None if they cannot be had
    values: dict[tuple[int, str], KnownValues | None] = field(default_factory=dict)

    def source(self, examiner: Examiner) -> tuple[str, ...]:
        name = examiner.exercise.name
        if name not in self.sources:
            try:
                text = textwrap.dedent(inspect.getsource(inspect.unwrap(examiner.exercise.reference)))
                self.sources[name] = (text,)
            except (OSError, TypeError):
                self.sources[name] = ()
        return self.sources[name]

    def value(self, examiner: Examiner, probe: str) -> KnownValues | None:
        key = id(examiner), probe
        if key not in self.values:
            self.values[key] = known_values(examiner, probe)
        return self.values[key]


def lacks_a_line(result: Result) -> bool:
    """Is the answer wrong without an explanation, or with one for a property but without a line?"""
    return result.state == "not_yet" and (result.help in (None, "shown") or is_of_a_property(result))


def is_of_a_property(result: Result) -> bool:
    return result.help in ("explained", "resembles") and result.line is None


def is_of_values(examiner: Examiner, seen: Seen, probe: str) -> bool:
    """Is this a check of values, of which values were seen?"""
    return examiner.exercise.probes[probe].kind == "value" and probe in seen and seen[probe].values is not None


def told(result: Result, sentence: str) -> dict[str, Any]:
    """The help and the sentences of a result whose line was found: what says what is wrong goes before the line."""
    if result.help in ("explained", "resembles"):
        return {"help": result.help, "explanations": (*result.explanations, Explanation(sentence))}
    return {"help": "located", "explanations": (Explanation(sentence),)}


def located(
    result: Result,
    examiner: Examiner,
    answer: UnexplainedAnswer,
    bench: ProofBench,
    budget: Budget,
    reference_values: ReferenceValues,
    reveal: bool = False,
) -> Result:
    """The result with the line where the mistake is, if it was found.

    Args:
        reveal: keep the edit itself, for an author; students are not shown it.
    """
    fails = list(failing(examiner, answer.seen))
    if not fails or not answer.texts:
        return result
    result = with_unread(result, examiner, answer, reference_values)
    result = with_chance(with_unused(result, examiner, answer), examiner, answer, bench, fails[0])
    if is_of_a_property(result) and not any(is_of_values(examiner, answer.seen, name) for name in fails):
        return with_line(result, examiner, answer, bench, budget, reference_values)
    watched = instrumented(answer)
    divergence, names = by_trace(examiner, answer, watched, bench, reference_values, fails[0])
    proved = None
    for i, other in enumerate(fails[:MOST_FAILED]):  # of many cases in one probe only the first are noted
        if i and divergence is None:
            divergence, _ = by_trace(examiner, answer, watched, bench, reference_values, other)
        if divergence is not None:
            of_values = [name for name in fails if examiner.exercise.probes[name].kind == "value"]
            if divergence.flow is not None and other in of_values:
                ordered = [other, *(name for name in of_values if name != other)]
                proved = proof(examiner, divergence, watched, answer.seen, ordered, bench, budget, reference_values)
            break
    texts = {label: text.source for label, text in answer.texts.items()}
    spot = proved.spot if proved is not None else None if divergence is None else divergence.spot
    found = repair(examiner, answer.seen, texts, reference_values.source(examiner), bench, budget, spot, names)
    if found is not None:
        return with_repair(result, answer.texts, found, reveal)
    if proved is not None:
        return with_proof(result, answer.texts, proved)
    if divergence is not None and divergence.on_the_way:
        return with_unfinished(result, answer.texts, divergence)
    return result


def with_unread(
    result: Result, examiner: Examiner, answer: UnexplainedAnswer, reference_values: ReferenceValues
) -> Result:
    """The result with the arguments that the answer never reads, before whatever else is said; but after that it
    returned another kind of thing than was asked for."""
    sources = [text.source for text in answer.texts.values()]
    unread = never_read(sources, examiner.exercise.name, reference_values.source(examiner))
    unread = [name for name in unread if examiner.makes_a_difference(name)]
    if not unread or not any(examiner.exercise.probes[name].kind == "value" for name in failing(examiner, answer.seen)):
        return result
    others = result.explanations if result.help in ("explained", "resembles") else ()
    help_: Help = "resembles" if result.help == "resembles" else "explained"
    why = Explanation(words.unread_sentence(unread))
    seen = answer.seen.get(result.probe)
    returned_other = seen is not None and seen.raised is not None
    return replace(result, help=help_, explanations=(*others, why) if returned_other else (why, *others))


def with_unused(result: Result, examiner: Examiner, answer: UnexplainedAnswer) -> Result:
    """The result with a remark on what the answer computes and never uses, which proves nothing by itself."""
    own = next(iter(answer.texts.values()))
    remarks = [words.unused_remark(variable, own.line(line)) for line, variable in found_unused(own, examiner)]
    return replace(result, remarks=(*result.remarks, *remarks))


def found_unused(own: EditableCell, examiner: Examiner) -> list[tuple[int, str]]:
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return never_used(own.source, examiner.exercise.name)[:MOST_UNUSED]
    return []


def with_chance(result: Result, examiner: Examiner, answer: UnexplainedAnswer, bench: ProofBench, probe: str) -> Result:
    """The result with the line where the answer draws the random numbers on which its own result depends."""
    if not is_of_values(examiner, answer.seen, probe):
        return result
    found = drawn_by(examiner, answer.seen, probe, {n: text.source for n, text in answer.texts.items()}, bench)
    if found is None:
        return result
    label, line, code = found
    why = Explanation(words.chance_sentence(answer.texts[label].line(line), words.short(code)))
    others = result.explanations if result.help in ("explained", "resembles") else ()
    help_: Help = "resembles" if result.help == "resembles" else "explained"
    return replace(result, help=help_, explanations=(why, *others), line=line)


def instrumented(answer: UnexplainedAnswer) -> InstrumentedCells:
    """The answer's cells with watched expressions; those that cannot be read stay as they are."""
    watched = InstrumentedCells()
    for label, text in answer.texts.items():
        with suppress(SyntaxError, ValueError, RecursionError):
            watched.add(label, text.source)
    return watched


def with_line(
    result: Result,
    examiner: Examiner,
    answer: UnexplainedAnswer,
    bench: Bench,
    budget: Budget,
    reference_values: ReferenceValues,
) -> Result:
    """A result that says which property an answer lacks, with the line as well, if a small edit gives it back."""
    if any(seen.called for seen in answer.seen.values()):
        return result  # what it should do without is named, and an edit may not do with it either
    budget.candidates = min(budget.candidates, FOR_A_PROPERTY)
    texts = {label: text.source for label, text in answer.texts.items()}
    found = repair(examiner, answer.seen, texts, reference_values.source(examiner), bench, budget)
    if found is None or found.agree is not None:
        return result
    return replace(with_repair(result, answer.texts, found, reveal=False), located=None)


def by_trace(
    examiner: Examiner,
    answer: UnexplainedAnswer,
    watched: InstrumentedCells,
    bench: ProofBench,
    reference_values: ReferenceValues,
    failing: str,
) -> tuple[Divergence | None, dict[str, str]]:
    """The first divergence on a probe that the answer fails, and a map from the reference's variables to the
    student's."""
    right = reference_values.value(examiner, failing)
    if right is None:
        return None, {}
    passed = passing(examiner, answer.seen)[:MOST_PASSED]
    (seen,) = bench.run([watched.cells], [failing, *passed], watched=True)
    if failing not in seen:
        return None, {}
    noted, name = seen[failing], examiner.exercise.name
    ways: frozenset[int] = frozenset()
    for probe in passed:
        values = reference_values.value(examiner, probe)
        if values is not None and probe in seen:
            ways |= other_ways(seen[probe], watched, values, name)
    return first_divergence(noted, watched, right, name, ways), same_variables(noted, watched, right)


def with_repair(result: Result, texts: Mapping[str, EditableCell], found: Repair, reveal: bool) -> Result:
    edits = found.candidate.edits
    label, first = edits[0]
    text = texts[label]
    if len(edits) == 1:
        sentence = words.one_change(
            text.line(first.line),
            text.code(first.line, first.old),
            first.kind,
            result.probes,
            found.agree,
            after=first.kind == "missing step" and first.start == first.end,
        ) + words.same_again([text.line(number) for number in text.again(first.old, first.line)])
    else:
        in_order = sorted(edits, key=lambda one: (list(texts).index(one[0]), one[1].line))
        places = [(texts[where].line(edit.line), edit.kind) for where, edit in in_order]
        sentence = words.two_changes(places, result.probes)
    steps = tuple(step for _, edit in edits for step in words.steps(words.short(edit.old), edit.kind))
    kind = " + ".join(edit.kind for _, edit in edits)
    found_at = Located("repair", kind, words.short(first.old, 200), first.new if reveal else "")
    return replace(result, line=first.line, steps=steps, located=found_at, **told(result, sentence))


def with_proof(result: Result, texts: Mapping[str, EditableCell], proved: Proof) -> Result:
    """The result with the line whose right value was tried in its place."""
    spot, before = proved.spot, proved.before
    line, code = texts[spot.label].line(spot.line), words.short(spot.text)
    holder = spot.assigned if spot.kind in STATEMENTS else ""
    sentence = words.proved_sentence(line, code, proved.mends, proved.tried, proved.fails, proved.known, holder, before)
    if proved.complete:
        sentence = words.complete_sentence(line, code)
    elif proved.entries[0]:
        sentence = words.part_sentence(line, code, *proved.entries, proved.known, holder, before)
    return replace(
        result,
        line=spot.line,
        steps=words.TRACE_STEPS if proved.known else words.TRACE_STEPS[1:],
        located=Located("trace", spot.kind, words.short(spot.text, 200)),
        **told(result, sentence),
    )


def with_unfinished(result: Result, texts: Mapping[str, EditableCell], divergence: Divergence) -> Result:
    """The result of an answer that returns a value on the way of a right solution."""
    spot = divergence.spot
    sentence = words.unfinished_sentence(texts[spot.label].line(spot.line), words.short(spot.text))
    return replace(
        result,
        line=spot.line,
        steps=words.UNFINISHED_STEPS,
        located=Located("trace", spot.kind, words.short(spot.text, 200)),
        **told(result, sentence),
    )
