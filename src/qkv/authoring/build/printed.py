"""Numbers in what a cell printed, found by the words in front of them.

A label is the beginning of one printed line, and its numbers are those behind it on that line: `{8 from 0 to 2}` in a
claim or in prose stands for the first of them, `{8 from 0 to 2 #2}` for the second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import nbformat

NUMBER = r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?"
VALUE = re.compile(rf"\[[^\]]*\]|{NUMBER}(?: ± {NUMBER})?%?|[-−]?\b(?:True|False|nan|inf|\w+Error)\b")
SLOT = re.compile(r"\{(?P<label>[^{}]+?)(?: #(?P<nth>\d+))?\}")


@dataclass(frozen=True)
class Printed:
    """What one cell has printed."""

    text: str

    @classmethod
    def by(cls, outputs: Iterable[nbformat.NotebookNode]) -> Printed:
        return cls("".join(output.text for output in outputs if output.output_type == "stream"))

    @cached_property
    def lines(self) -> list[str]:
        """Its lines with every run of spaces made one; empty ones are left out."""
        return [" ".join(line.split()) for line in self.text.splitlines() if line.strip()]

    def line(self, label: str) -> str:
        """The line that begins with a label; where several do, the one that goes on with a number. ValueError if that
        is not one line."""
        found = self.lines_of(label)
        if len(found) != 1:
            raise ValueError(
                f"{label!r} is asked for, with which {len(found) or 'no'} printed line"
                f"{'s begin' if len(found) > 1 else ' begins'}. Name the beginning of one line: {self.lines[:9]}"
            )
        return found[0]

    def lines_of(self, label: str) -> list[str]:
        """The lines that a label may mean: one, if it is a good label."""
        start = re.compile(re.escape(" ".join(label.split())) + r"(?!\w)")
        found = [line for line in self.lines if start.match(line)]
        if len(found) > 1:
            found = [line for line in found if VALUE.match(start.sub("", line, count=1).lstrip())] or found
        return found

    def value(self, label: str, nth: int = 1) -> str:
        """The nth number behind a label, as it was printed. ValueError if there is none."""
        line = self.line(label)
        values: list[str] = VALUE.findall(line[len(" ".join(label.split())) :])
        if nth > len(values):
            raise ValueError(f"no number {nth} behind {label!r} in the printed line {line!r}")
        return values[nth - 1]

    def fill(self, text: str) -> str:
        """A sentence with the printed numbers in its slots; a text without a slot is a label, and quotes its line."""
        if not SLOT.search(text):
            return f"`{self.line(text)}`"
        return SLOT.sub(lambda slot: self.value(slot["label"], int(slot["nth"] or 1)), text)
