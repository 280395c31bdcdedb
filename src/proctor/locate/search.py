"""The search by repair: try edits, smallest first, until all probes agree, here and on a second set of inputs.

A candidate meets a probe that the answer fails first; few get further. Whoever runs candidates tells what the probes
saw, and the verdict on them is made here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.examining.compare import Known
from proctor.examining.diagnose import Examiner
from proctor.locate.edits import edits
from proctor.locate.ingredients import Ingredients
from proctor.locate.source import Definition, Edit, applied
from proctor.inside.observe import Observation

BATCH = 60  # candidates of one sitting
Text = str
Cells = Mapping[str, Text]  # label -> text
Seen = Mapping[str, Observation]
# (versions of the cells, probes, on the second set of inputs?) -> what each version's probes saw; None: out of budget
Run = Callable[[Sequence[Cells], Sequence[str], bool], Iterator[Seen] | None]


@dataclass(frozen=True)
class Candidate:
    """One or two edits, and the cell in which each is made."""

    edits: tuple[tuple[str, Edit], ...]

    @property
    def cost(self) -> float:
        return sum(edit.cost for _, edit in self.edits)

    def cells(self, texts: Cells) -> dict[str, Text]:
        """The cells that change, edited."""
        found = {}
        for label in dict.fromkeys(label for label, _ in self.edits):
            found[label] = applied(texts[label], *(edit for other, edit in self.edits if other == label))
        return found


@dataclass
class Budget:
    """How much may be spent on one answer."""

    candidates: int = 1500
    seconds: float = 2.0  # of processor time
    clock: Callable[[], float] = time.process_time
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = self.clock() + self.seconds

    @property
    def left(self) -> bool:
        return self.candidates > 0 and self.clock() < self._until


def candidates(texts: Cells, solutions: Sequence[Text]) -> list[Candidate]:
    """All single edits of these cells, smallest first; those that come out the same count once."""
    ingredients = Ingredients(solutions)
    found: dict[tuple[str, int, int, str], tuple[str, Edit]] = {}
    for distance, (label, text) in enumerate(texts.items()):
        try:
            definition = Definition(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for edit in (*edits(definition), *ingredients.edits(definition)):
            key = label, edit.start, edit.end, edit.new
            if edit.new != definition.words(edit.start, edit.end) and (
                key not in found or found[key][1].cost > edit.cost
            ):
                found[key] = label, edit
        del distance
    return sorted((Candidate((edit,)) for edit in found.values()), key=lambda c: c.cost)


@dataclass
class Repair:
    """What was found: the edits that make all probes agree, and after how many candidates."""

    candidate: Candidate
    tried: int


def repair(
    examiner: Examiner, seen: Seen, texts: Cells, solutions: Sequence[Text], run: Run, budget: Budget
) -> Repair | None:
    """The smallest edit of an answer's cells with which all probes agree, or None if none was found in the budget.

    Args:
        seen: what the probes saw of the answer as it is.
        texts: the cells that may be edited, the answer's own first.
        solutions: texts of right solutions.
    """
    failing = first_failing(examiner, seen)
    if failing is None:
        return None
    tried = 0
    for batch in batches(candidates(texts, solutions)):
        if not budget.left:
            break
        batch = batch[: budget.candidates]
        budget.candidates -= len(batch)
        outcomes = run([c.cells(texts) for c in batch], [failing], False)
        if outcomes is None:
            break
        for candidate, outcome in zip(batch, outcomes, strict=False):
            tried += 1
            if agrees(examiner, outcome, [failing]) and survives(examiner, candidate, texts, run):
                return Repair(candidate, tried)
    return None


def batches(found: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Small ones first: most repairs are found early."""
    start, count = 0, BATCH
    while start < len(found):
        yield list(found[start : start + count])
        start += count
        count = min(2 * count, 4 * BATCH)


def first_failing(examiner: Examiner, seen: Seen) -> str | None:
    """A probe that the answer fails; one that sees values before one that sees a property."""
    probes = sorted(examiner.exercise.counted().values(), key=lambda p: p.kind != "value")
    for probe in probes:
        if probe.name not in seen or not examiner.expected[probe.name].same(Known(seen[probe.name])):
            return probe.name
    return None


def agrees(examiner: Examiner, seen: Seen, probes: Iterable[str]) -> bool:
    """Do all these probes see what they see of the reference, and nothing that is forbidden?"""
    return all(
        name in seen and not seen[name].called and examiner.expected[name].same(Known(seen[name])) for name in probes
    )


def survives(examiner: Examiner, candidate: Candidate, texts: Cells, run: Run) -> bool:
    """Do all probes agree with a candidate, on both sets of inputs?"""
    probes = list(examiner.exercise.counted())
    for judge, others in ((examiner, False), (examiner.other_inputs, True)):
        outcomes = run([candidate.cells(texts)], probes, others)
        outcome = next(outcomes, None) if outcomes is not None else None
        if outcome is None or not agrees(judge, outcome, probes):
            return False
    return True
