"""The search for the line of mistakes without a name, in a submission that was marked: edited answers run where the
student's own would, and cost no points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.inside.running import Version
from proctor.locate.search import Budget, Cells, Seen
from proctor.locate.where import Answer, Rights, Text, lacks_a_line, located
from proctor.marking.submission_marker import Circumstances, SubmissionMarker

MOST_STOPS = 3  # of one batch: a version that ends its process is passed over
PER_SUBMISSION = 60.0  # seconds of processor time


@dataclass
class Locating:
    """Looks for lines.

    Args:
        candidates: edits that are tried for one answer.
        seconds: of processor time for one answer.
        reveal: keep the edits, for authors.
        rights: what right solutions are and do, computed once for a class.
    """

    candidates: int = 1000
    seconds: float = 20.0
    reveal: bool = False
    rights: Rights = field(default_factory=Rights)

    def locate(self, marker: SubmissionMarker) -> None:
        """Add the line to every result that has no name, and none yet, and whose line is found."""
        left = PER_SUBMISSION
        for name, (given, seen) in list(marker.seen.items()):
            if left <= 0 or not lacks_a_line(marker.results[name]):
                continue
            budget = Budget(self.candidates, min(self.seconds, left))
            bench = MarkerBench(marker, given, name, budget)
            answer = Answer(seen, editable(marker, given, name))
            marker.results[name] = located(
                marker.results[name], marker.examiners[name], answer, bench, budget, self.rights, self.reveal
            )
            left -= budget.used


def editable(marker: SubmissionMarker, given: Circumstances, name: str) -> dict[str, Text]:
    """The cells that may be edited: the answer's own first, then what it uses, but for what is known to be right."""
    slice_ = marker.slice(given.file, name)
    sources = {cell.label: cell.source for cell in slice_.cells()}
    right = {other for other, result in marker.results.items() if result.state == "passed"} | set(given.parts)
    found: dict[str, Text] = {}
    groups = sorted(slice_.labelled().items(), key=lambda item: name not in item[1][-1].binds)
    place = groups[0][1][-1].place if groups else ""
    for label, definitions in groups:
        binds = frozenset().union(*(d.binds for d in definitions))
        if not any(d.is_import for d in definitions) and (name in binds or not binds & right):
            elsewhere = "" if definitions[0].place == place else f" of {definitions[0].place}"
            found[label] = Text(sources[label], elsewhere)
    return found


@dataclass
class MarkerBench:
    """Runs versions of one answer as the answer itself ran."""

    marker: SubmissionMarker
    given: Circumstances
    name: str
    budget: Budget

    def run(
        self, versions: Sequence[Cells], probes: Sequence[str], *, again: bool = False, watched: bool = False
    ) -> list[Seen]:
        examiner = self.marker.examiners[self.name]
        draws = {self.name: examiner.other_inputs.draws} if again else None
        left = {f"{self.name} #{i}": Version(self.name, cells, watched) for i, cells in enumerate(versions)}
        outcomes: dict[str, Mapping[str, object]] = {key: {} for key in left}
        job = self.marker.job(self.given, [self.name])
        for _ in range(MOST_STOPS + 1):
            batch = replace(job, exercises={key: list(probes) for key in left}, versions=left)
            run = self.marker.runner.run(batch, draws)  # never kept: it has seen parts of the reference
            self.budget.used += run.seconds
            outcomes |= run.outcomes
            order = list(left)
            if run.stopped is None or run.stopped.exercise not in left:
                break
            behind = order[order.index(run.stopped.exercise) + 1 :]
            left = {key: left[key] for key in behind}
            if not left:
                break
        return [outcomes[f"{self.name} #{i}"] for i in range(len(versions))]  # type: ignore[misc]
