"""The summary page for the instructor: the class at a glance, and topics for the next lecture."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote

from proctor.examining.result import HELPS, IN_WORDS, State
from proctor.locate.words import KINDS
from proctor.report.feedback import page_name
from proctor.report.tally import Row, Standing, Tally
from proctor.report.templating import render

LESSON = 5  # mistakes that the lesson plan names
STRAGGLERS = 10
STOPS = 12
UNNAMED = 20
PAIRS = 30
CORRECTED = 200
FATES = 30  # mistakes of the run before
NOTES = 100  # students whose files could not be read as they are
IN_BARS: tuple[State, ...] = ("passed", "not_yet", "stopped", "fault", "not_started")


@dataclass(frozen=True)
class SummarySection:
    """A sheet that at least one student has begun."""

    title: str
    rows: list[Row]


def summary_page(tally: Tally) -> str:
    """The summary page of a class."""
    begun = tally.begun()
    sections = [SummarySection(sheet.title, [tally.rows[e.name] for e in sheet.exercises]) for sheet in begun]
    untouched = [sheet.title for sheet in tally.assignment.sheets if sheet not in begun]
    totals = sorted(standing.total for standing in tally.standings)
    mistakes = tally.mistakes()
    counts = tally.histogram()
    in_one_group = tally.scheme.policy.others_in_group
    pairs = tally.code.pairs(PAIRS, unless=lambda pair: pair.second in in_one_group(pair.first))
    since = tally.since
    edges = [f"{tally.points * i / len(counts):.3g}" for i in range(len(counts) + 1)]
    return render(
        "summary.html",
        tally=tally,
        sections=sections,
        untouched=untouched,
        mistakes=mistakes,
        lesson=[m for m in mistakes if m.count > 1][:LESSON] or mistakes[:LESSON],
        unnamed=tally.unnamed()[:UNNAMED],
        kinds=KINDS,
        helps=tally.helps(),
        help_words=HELPS,
        stops=tally.stops()[:STOPS],
        states=IN_BARS,
        words=IN_WORDS,
        all_states=tally.states(),
        students=len(totals),
        mean=sum(totals) / max(len(totals), 1),
        median=median(totals),
        histogram=[(f"{a}–{b}", count) for (a, b), count in zip(pairwise(edges), counts, strict=True)],
        edges=edges,
        tallest=max(counts, default=1) or 1,
        stragglers=stragglers(tally),
        most_corrected=CORRECTED,
        pairs=pairs,
        compared=tally.code.compared,
        since=since if since is not None and since.students else None,
        fates=since.in_order()[:FATES] if since is not None else [],
        sentences={
            (e.name, m): e.misconceptions[m].explanation.sentence
            for e in tally.assignment.exercises
            for m in e.misconceptions
        },
        most_notes=NOTES,
        href=lambda student: f"feedback/{quote(page_name(student))}",
    )


def median(ordered: list[float]) -> float:
    if not ordered:
        return 0.0
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def stragglers(tally: Tally) -> list[Standing]:
    """Students who are furthest behind: less than half of the class's median."""
    limit = median(sorted(standing.total for standing in tally.standings)) / 2
    behind = [standing for standing in tally.standings if standing.total < limit]
    return sorted(behind, key=lambda s: (s.total, s.student))[:STRAGGLERS]
