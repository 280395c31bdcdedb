"""What the instructor reads: the class at a glance, and what to talk about tomorrow."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import quote

from proctor import similarity
from proctor.report.feedback import page_name
from proctor.report.tally import Row, Standing, Tally
from proctor.report.templating import render
from proctor.result import IN_WORDS, STATES

LESSON = 5  # mistakes that the lesson plan names
STRAGGLERS = 10
STOPS = 12
PAIRS = 30


@dataclass(frozen=True)
class Section:
    """A sheet that somebody has begun."""

    title: str
    rows: list[Row]


def page(tally: Tally) -> str:
    """The summary page of a class."""
    sections, untouched = [], []
    for sheet in tally.assignment.sheets:
        rows = [tally.rows[exercise.name] for exercise in sheet.exercises]
        if any(row.started for row in rows):
            sections.append(Section(sheet.title, rows))
        else:
            untouched.append(sheet.title)
    totals = sorted(standing.total for standing in tally.standings)
    mistakes = tally.mistakes()
    counts = tally.histogram()
    return render(
        "summary.html",
        tally=tally,
        sections=sections,
        untouched=untouched,
        mistakes=mistakes,
        lesson=[m for m in mistakes if m.count > 1][:LESSON] or mistakes[:LESSON],
        stops=tally.stops()[:STOPS],
        states=STATES,
        words=IN_WORDS,
        all_states=tally.states(),
        students=len(totals),
        mean=sum(totals) / max(len(totals), 1),
        median=median(totals),
        histogram=list(zip(bin_labels(tally.assignment.points, len(counts)), counts, strict=True)),
        tallest=max(counts, default=1) or 1,
        stragglers=stragglers(tally),
        pairs=tally.code.pairs()[:PAIRS],
        compared=similarity.available(),
        href=lambda student: f"feedback/{quote(page_name(student))}",
    )


def median(ordered: list[float]) -> float:
    if not ordered:
        return 0.0
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def bin_labels(points: float, bins: int) -> list[str]:
    edges = [f"{points * i / bins:.3g}" for i in range(bins + 1)]
    return [f"{a}–{b}" for a, b in pairwise(edges)]


def stragglers(tally: Tally) -> list[Standing]:
    """Students who are furthest behind: less than half of the class's median."""
    limit = median(sorted(standing.total for standing in tally.standings)) / 2
    behind = [standing for standing in tally.standings if standing.total < limit]
    return sorted(behind, key=lambda s: (s.total, s.student))[:STRAGGLERS]
