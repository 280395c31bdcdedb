"""Claims: the lines at the head of a cell that measures one, with what people say and what the cell found.

    # claim: dot-is-direction
    # says: A large dot product means that query and key point the same way.
    # verdict: holds if all keys have the same length
    # on: 2,000 random queries over 8 keys, 5 seeds
    # measured: they disagree in {8 from 0 to 2} of the cases
    # assert: {8 all equal} < 0.01 and {8 from 0 to 2} > 0.4

A verdict is `holds`, `holds if …` or `wrong`; `holds by definition`, `wrong by definition` and `holds as an identity`
are said of what no experiment could have decided otherwise. `# on:` names task, size, budget and seeds. What was
measured is said without a number: `{label}` stands for the first number behind `label`, the beginning of a printed
line, and `{label #2}` for the second. A label without braces quotes its whole line; a claim that names none quotes the
first line with a number. A cell may measure several claims.

`# assert:` says what the verdict rests on, as an expression over printed numbers, with a margin: it has to hold for
other digits too, on every machine on which the cell is run (`solutions/conftest.py`).
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import Any

LINE = re.compile(r"# (claim|says|verdict|on|measured|assert): +(.+)")
HIDDEN = ("# verdict:", "# on:", "# measured:", "# assert:")  # from students, until the cell has run
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VERDICT = re.compile(r"(holds|wrong)\b")
DEFINED = re.compile(r"(holds|wrong),? (by definition|as an identity)\b")
CONDITION = re.compile(r"holds,? (only )?(if|when|where|unless|as long as)\b")
NUMBER = r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?"
VALUE = re.compile(rf"\[[^\]]*\]|{NUMBER}(?: ± {NUMBER})?%?|[-−]?\b(?:True|False|nan|inf|\w+Error)\b")
SLOT = re.compile(r"\{(?P<label>[^{}]+?)(?: #(?P<nth>\d+))?\}")
WORDS = {"nan": math.nan, "inf": math.inf, "True": True, "False": False}
FUNCTIONS = {f.__name__: f for f in (abs, all, any, len, max, min, sum, math.isnan, math.log10)}


@dataclass(frozen=True)
class Claim:
    """A sentence that people say, the verdict of the cell that stands below it, and where its number is printed."""

    id: str  # its anchor on the page
    says: str = ""  # the sentence that people say
    verdict: str = ""  # as written behind `# verdict:`
    measured: tuple[str, ...] = ()  # sentences with labels of printed numbers
    asserted: tuple[str, ...] = ()  # expressions over printed numbers
    on: str = ""  # task, size, budget and seeds

    @property
    def kind(self) -> str:
        """`holds`, `holds-if` with a condition that it names, `wrong`, or `defined`: no experiment decides it."""
        if DEFINED.match(self.verdict):
            return "defined"
        if self.verdict.startswith("wrong"):
            return "wrong"
        return "holds-if" if CONDITION.match(self.verdict) else "holds"

    @property
    def box(self) -> str:
        """MyST for the page; the ledger links to its target."""
        return "\n".join(
            [
                f"(claim-{self.id})=",
                ":::::{admonition} Claim",
                f":class: claim {self.kind}",
                "",
                f"“{self.says}”",
                "",
                f"{{.verdict}}\nVerdict: {self.verdict}",
                *(["", f"{{.measured-on}}\nMeasured on: {self.on}"] if self.on else []),
                ":::::",
            ]
        )

    def contradiction(self, printed: str) -> str | None:
        """The printed numbers that contradict the verdict, in words; empty if none do. ValueError if a number is
        missing."""
        lines = _lines(printed)
        for assertion in self.asserted:
            values: dict[str, Any] = {}

            def name(slot: re.Match[str], values: dict[str, Any] = values) -> str:
                values[slot[0]] = _read(self._value(slot["label"], int(slot["nth"] or 1), lines))
                return f"({values[slot[0]]!r})"

            filled = SLOT.sub(name, assertion)
            try:
                holds = eval(filled, {"__builtins__": {}, **FUNCTIONS, **WORDS})
            except Exception as error:
                raise ValueError(f"claim {self.id}: `# assert: {assertion}` is no question ({error})") from None
            if holds is not True:
                read = ", ".join(f"{slot} is {value}" for slot, value in values.items())
                return f"claim {self.id}: `{assertion}` is not true here, where {read}"
        return None

    def found(self, printed: str) -> str:
        """The measured result as Markdown, with the printed numbers. ValueError if they are missing."""
        lines = _lines(printed)
        if not lines:
            raise ValueError(f"the cell of the claim {self.id} prints nothing that could be quoted")
        if not self.measured:
            return f"`{next((line for line in lines if VALUE.search(line)), lines[0])}`"
        return "; ".join(self._filled(text, lines) for text in self.measured)

    def _filled(self, text: str, lines: list[str]) -> str:
        if not SLOT.search(text):
            return f"`{self._line(text, lines)}`"
        return SLOT.sub(lambda slot: self._value(slot["label"], int(slot["nth"] or 1), lines), text)

    def _value(self, label: str, nth: int, lines: list[str]) -> str:
        line = self._line(label, lines)
        values: list[str] = VALUE.findall(line[len(" ".join(label.split())) :])
        if nth > len(values):
            raise ValueError(f"claim {self.id}: no number {nth} behind {label!r} in the printed line {line!r}")
        return values[nth - 1]

    def _line(self, label: str, lines: list[str]) -> str:
        """The line that begins with a label; where several do, the one that goes on with a number."""
        start = re.compile(re.escape(" ".join(label.split())) + r"(?!\w)")
        found = [line for line in lines if start.match(line)]
        if len(found) > 1:
            found = [line for line in found if VALUE.match(start.sub("", line, count=1).lstrip())] or found
        if len(found) != 1:
            raise ValueError(
                f"claim {self.id}: `# measured:` names {label!r}, with which {len(found) or 'no'} printed "
                f"line{'s begin' if len(found) > 1 else ' begins'}. Name the beginning of one line: {lines[:9]}"
            )
        return found[0]


def take_claims(source: str) -> tuple[list[Claim], str]:
    """The claims at the head of a cell, and the code below them. A ValueError names the line that its author has to
    fix."""
    lines = source.splitlines()
    heads: list[dict[str, list[str]]] = []
    while lines and (match := LINE.fullmatch(lines[0].rstrip())):
        if match[1] == "claim":
            heads.append({})
        if not heads:
            raise ValueError(f"a cell's claim begins with its id, `# claim: …`, not with {lines[0]!r}")
        heads[-1].setdefault(match[1], []).append(match[2])
        lines.pop(0)
    return [_claim(head) for head in heads], "\n".join(lines) if heads else source


def without_findings(source: str) -> str:
    """The cell as editions show it: the claim without its verdict, which a student should not read before running
    it."""
    lines = source.splitlines()
    head = next((n for n, line in enumerate(lines) if not LINE.fullmatch(line.rstrip())), len(lines))
    kept = [line for line in lines[:head] if not line.startswith(HIDDEN)]
    return "\n".join([*kept, *lines[head:]]) if head else source


def _claim(head: dict[str, list[str]]) -> Claim:
    name = head["claim"][0]
    if not ID.fullmatch(name):
        raise ValueError(f"the claim {name!r} needs an id of small letters, digits and hyphens")
    for part in ("says", "verdict"):
        if len(head.get(part, [])) != 1:
            raise ValueError(f"the claim {name} needs one line `# {part}: …`, and has {len(head.get(part, []))}")
    if not VERDICT.match(head["verdict"][0]):
        raise ValueError(
            f"the claim {name} has the verdict {head['verdict'][0]!r}; a verdict begins with holds, holds if, or wrong"
        )
    return Claim(
        name,
        head["says"][0],
        head["verdict"][0],
        tuple(head.get("measured", ())),
        tuple(head.get("assert", ())),
        " ".join(head.get("on", ())),
    )


def _lines(printed: str) -> list[str]:
    return [" ".join(line.split()) for line in printed.splitlines() if line.strip()]


def _read(value: str) -> Any:
    """A printed value as Python has it: a number without its spread, a list, True, or the name of an error."""
    plain = value.partition(" ± ")[0].rstrip("%").replace("−", "-")
    if plain.startswith("["):
        return ast.literal_eval(plain)
    if plain.lstrip("-") in WORDS:
        return -WORDS[plain[1:]] if plain.startswith("-") else WORDS[plain]
    return plain if plain.endswith("Error") else float(plain.replace(",", ""))
