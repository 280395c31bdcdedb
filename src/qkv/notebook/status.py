"""What a student has done, chapter by chapter: for a notebook, and for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from proctor.examining.result import IN_WORDS
from proctor.report.notebook import SIGNS, prose
from qkv import exercises, routes
from qkv.notebook import places, review
from qkv.notebook.predictions import count_predictions
from qkv.notebook.progress import SKIPPED, load_progress

BAR = 20
TITLE = (  # one line a chapter, however long its title and however narrow the window
    "display:inline-block;width:30em;max-width:60%;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;"
    "vertical-align:bottom"
)


@dataclass(frozen=True)
class Status:
    """Progress by chapter: (stem, [(exercise, state)]); exercises to write again; predictions: written, asked for."""

    chapters: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    due: tuple[str, ...] = ()
    predictions: tuple[int, int] = (0, 0)

    @classmethod
    def now(cls) -> Status:
        states = load_progress()["states"]
        return cls(
            tuple(
                (stem, tuple((name, states.get(name, "not_started")) for name in exercises.names_of(stem)))
                for stem in exercises.CHAPTERS
            ),
            tuple(review.due()),
            count_predictions(),
        )

    @property
    def next_exercise(self) -> str | None:
        states = {name: state for _, found in self.chapters for name, state in found}
        open_ = [name for name, state in states.items() if state not in ("passed", SKIPPED)]
        return next(iter([*open_, *(name for name, state in states.items() if state == SKIPPED)]), None)

    def __str__(self) -> str:
        titles = [f"{n:02} {places.chapter_title(stem)}" for n, (stem, _) in enumerate(self.chapters, 1)]
        width = max(map(len, titles))
        lines = []
        for title, (_, found) in zip(titles, self.chapters, strict=True):
            done = sum(state == "passed" for _, state in found)
            full = round(BAR * done / max(len(found), 1))  # a chapter that is being written has none
            bar = "█" * full + "░" * (BAR - full)
            skipped = sum(state == SKIPPED for _, state in found)
            more = f", {skipped} skipped" if skipped else ""
            lines.append(f"{title:{width}} {bar} {done} of {len(found)}{more}")
        return "\n".join([*lines, self._next_line, *self._also])

    def of_chapter(self, number: int) -> str:
        """The exercises of one chapter, a line each."""
        stem, found = self.chapters[number - 1]
        lines = [f"{number:02} {places.chapter_title(stem)}"]
        for name, state in found:
            number_and_name = f"{places.exercise_number(name):5} {name}"
            lines.append(f"{sign(state)} {number_and_name:36} {state_in_words(state)}; {exercises.get(name).effort}")
        return "\n".join(lines)

    @property
    def _next_line(self) -> str:
        name = self.next_exercise
        if name is None:
            return "All exercises passed."
        title = places.chapter_title(exercises.chapter_of(name))
        return f"Next: {places.exercise_number(name)} {name}, in {title} ({exercises.get(name).effort})."

    @property
    def _also(self) -> list[str]:
        """What is due to be written again, and how many predictions were written down."""
        states = {name: state for _, found in self.chapters for name, state in found}
        left = [name for name in routes.GPT.exercises if states.get(name) != "passed"]
        lines = []
        if left:
            on_route = len(routes.GPT.exercises)
            following = f"next on this route: {places.exercise_number(left[0])} {left[0]}"
            lines.append(f"{routes.GPT.name}: {on_route - len(left)} of {on_route} exercises; {following}.")
        if self.due:
            again = "exercise" if len(self.due) == 1 else "exercises"
            lines.append(f"Due to be written again, from the empty stub: {len(self.due)} {again} (`qkv review`).")
        written, asked = self.predictions
        if written:
            lines.append(f"Predictions that you wrote down before the result: {written} of {asked}.")
        return lines

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        rows = []
        current = exercises.chapter_of(self.next_exercise) if self.next_exercise else ""
        for number, (stem, found) in enumerate(self.chapters, 1):
            done = sum(state == "passed" for _, state in found)
            title = f"{number:02} {places.chapter_title(stem)}"
            items = "".join(
                f'<li>{sign(state)} <a href="{escape(places.cell_link(name))}">'
                f"{places.exercise_number(name)} {escape(name)}</a> "
                f"{escape(state_in_words(state))} · {escape(exercises.get(name).effort)}</li>"
                for name, state in found
            )
            rows.append(
                f'<details{" open" if stem == current else ""} style="margin:.2em 0">'
                f'<summary style="cursor:pointer"><span style="{TITLE}" title="{escape(title)}">{escape(title)}</span> '
                f'<progress max="{len(found)}" value="{done}" aria-label="{escape(title)}"></progress> '
                f'{done} of {len(found)}</summary><ul style="list-style:none;margin:.2em 0 .6em">{items}</ul></details>'
            )
        name = self.next_exercise
        also = "".join(f"<p>{prose(line)}</p>" for line in self._also)
        link = f' <a href="{escape(places.cell_link(name))}">Go there.</a>' if name else ""
        return f'<div class="qkv-status">{"".join(rows)}<p>{escape(self._next_line)}{link}</p>{also}</div>'


def sign(state: str) -> str:
    signs: Mapping[Any, str] = {**SIGNS, SKIPPED: "↷"}
    return signs.get(state, "?")


def state_in_words(state: str) -> str:
    words: Mapping[Any, str] = {**IN_WORDS, SKIPPED: "skipped: ours for now"}
    return words.get(state, state)
