"""The search for the line of mistakes without a name, in a marked submission. Edited answers cost no points and run in
a sandbox: an edit can do what its author never meant, such as delete other files than the student's code would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from time import monotonic

from torch import Tensor

from proctor.examining.compare import ComparableObservation
from proctor.examining.diagnose import Examiner
from proctor.examining.result import Result
from proctor.inside.observe import Observation
from proctor.inside.running import RIGHT_VALUES, Job, Version
from proctor.locate.proof import Put
from proctor.locate.repair import Budget, Cells, Seen
from proctor.locate.where import EditableCell, ReferenceValues, UnexplainedAnswer, lacks_a_line, located
from proctor.marking.submission_marker import RunContext, Session, SubmissionMarker

MOST_STOPS = 3  # of one batch: a version that ends its process is passed over
PER_SUBMISSION = 60.0  # seconds of processor time
PER_SUBMISSION_BY_CLOCK = 4 * PER_SUBMISSION  # what sleeps takes no processor time

Elsewhere = Callable[[str, Job], AbstractContextManager[Session] | None]


def no_progress(tried: int) -> None: ...


@dataclass
class LineSearch:
    """The search for the lines of a submission's mistakes.

    Args:
        candidates: edits that are tried for one answer.
        seconds: of processor time for one answer.
        reveal: store the edits in the result, for authors.
        reference_values: cache of the reference solutions, shared by a class.
        elsewhere: makes the session for edited answers to an exercise, from the job with the unedited text, where it is
            not the session of the answers; None if there is no safe place.
        on_progress: called with the number of edits tried so far.
    """

    candidates: int = 1000
    seconds: float = 20.0
    reveal: bool = False
    reference_values: ReferenceValues = field(default_factory=ReferenceValues)
    elsewhere: Elsewhere | None = None
    on_progress: Callable[[int], None] = no_progress

    def locate(self, marker: SubmissionMarker) -> None:
        """Add the line to every result that has no name, and none yet, and whose line is found. A search that fails
        costs no verdict."""
        left = PER_SUBMISSION
        ends = monotonic() + PER_SUBMISSION_BY_CLOCK
        for name in list(marker.seen):
            if left > 0 and monotonic() < ends and lacks_a_line(marker.results[name]):
                budget = Budget(self.candidates, min(self.seconds, left), self.on_progress, ends=ends)
                with suppress(Exception):
                    marker.results[name] = self._located(marker, name, budget)
                left -= budget.used

    def _located(self, marker: SubmissionMarker, name: str, budget: Budget) -> Result:
        context, seen = marker.seen[name]
        result, examiner = marker.results[name], marker.examiners[name]
        answer = UnexplainedAnswer(seen, editable(marker, context, name))
        if not answer.texts:
            return result
        job = marker.job_of_text(context, [name])
        place = nullcontext(marker.session) if self.elsewhere is None else self.elsewhere(name, job)
        if place is None:
            return result
        with place as session:
            bench = MarkerBench(session, job, examiner, budget, sends_inputs=self.elsewhere is not None)
            if self.elsewhere is not None and not bench.reproduces(seen):
                return result
            return located(result, examiner, answer, bench, budget, self.reference_values, self.reveal)


def editable(marker: SubmissionMarker, context: RunContext, name: str) -> dict[str, EditableCell]:
    """The cells that may be edited: the answer's own first, then what it uses, but for what is known to be right."""
    slice_ = marker.slice(context.file, name)
    sources = {cell.label: cell.source for cell in slice_.cells()}
    right = {other for other, result in marker.results.items() if result.state == "passed"} | set(context.parts)
    found: dict[str, EditableCell] = {}
    groups = sorted(slice_.labelled().items(), key=lambda item: name not in item[1][-1].binds)
    if not groups or not any(name in d.binds for d in groups[0][1]):
        return {}  # an object whose text is a part of something else
    place = groups[0][1][-1].place
    for label, definitions in groups:
        binds = frozenset().union(*(d.binds for d in definitions))
        if not any(d.is_import for d in definitions) and (name in binds or not binds & right):
            elsewhere = "" if definitions[0].place == place else f" of {definitions[0].place}"
            found[label] = EditableCell(sources[label], elsewhere)
    return found


@dataclass
class MarkerBench:
    """A `Bench` that runs versions of one answer as the answer itself ran.

    Args:
        job: with the text that they are versions of.
        sends_inputs: send inputs with each run: the session has none of its own.
    """

    session: Session
    job: Job
    examiner: Examiner
    budget: Budget
    sends_inputs: bool = False

    def run(
        self, versions: Sequence[Cells], probes: Sequence[str], *, again: bool = False, watched: bool = False
    ) -> list[Seen]:
        """Run versions; see `proctor.locate.repair.Bench`."""
        name = self.examiner.exercise.name
        return self._run([Version(name, cells, watched) for cells in versions], probes, again)

    def run_with(self, cells: Cells, puts: Sequence[Put], probes: Sequence[str], *, again: bool = False) -> list[Seen]:
        """Run an instrumented answer with right values in it; see `proctor.locate.proof.ProofBench`."""
        name, table, versions = self.examiner.exercise.name, dict[str, Tensor](), list[Version]()
        keys: dict[int, str] = {}  # the same tensors are put into many places

        def key_of(value: Tensor | None) -> str:
            if value is None:
                return ""
            key = keys.setdefault(id(value), str(len(keys)))
            table[key] = value
            return key

        for put in puts:
            by_check = {probe: {str(put.number): [key_of(v) for v in values]} for probe, values in put.values.items()}
            versions.append(Version(name, cells, put=by_check))
        return self._run(versions, probes, again, table)

    def _run(
        self, versions: Sequence[Version], probes: Sequence[str], again: bool, table: Mapping[str, Tensor] | None = None
    ) -> list[Seen]:
        name = self.examiner.exercise.name
        examiner = self.examiner.other_inputs if again else self.examiner
        draws: dict[str, Mapping[str, Tensor]] | None = None
        if again or self.sends_inputs or table:
            draws = {name: examiner.draws, RIGHT_VALUES: table or {}}
        left = {f"{name} #{i}": version for i, version in enumerate(versions)}
        outcomes: dict[str, Mapping[str, Observation]] = {key: {} for key in left}
        for _ in range(MOST_STOPS + 1):
            batch = replace(self.job, exercises={key: list(probes) for key in left}, versions=left)
            run = self.session.run(batch, draws)
            self.budget.used += run.seconds
            outcomes |= run.outcomes
            order = list(left)
            if run.stopped is None or run.stopped.exercise not in left:
                break
            left = {key: left[key] for key in order[order.index(run.stopped.exercise) + 1 :]}
            if not left or not self.budget.left:
                break
        return [outcomes[f"{name} #{i}"] for i in range(len(versions))]

    def reproduces(self, seen: Seen) -> bool:
        """Does the unedited text give the same observations here? If not, an edit of it says nothing."""
        (again,) = self.run([{}], list(self.examiner.exercise.probes))
        return again.keys() == seen.keys() and all(
            ComparableObservation(seen[name]).same(ComparableObservation(again[name])) for name in seen
        )
