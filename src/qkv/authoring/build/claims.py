"""Claims: the lines at the head of a cell that measures one, with what people say and what the cell found.

    # claim: dot-is-direction
    # says: A large dot product means that query and key point the same way.
    # verdict: holds if all keys have the same length
    # on: 2,000 random queries over 8 keys, 5 seeds
    # control: keys of one length, where they disagree in {8 all equal}
    # measured: they disagree in {8 from 0 to 2} of the cases
    # assert: {8 all equal} < 0.01 and {8 from 0 to 2} > 0.4

A verdict is `holds`, `holds if …`, `wrong`, or `not shown`: tried, and no difference came out that is larger than the
noise. `holds by definition`, `wrong by definition` and `holds as an identity` are said of what no experiment could have
decided otherwise. `# on:` names task, size, budget and seeds, `# control:`
the arm that would have overturned the verdict, had it come out otherwise; every verdict that an experiment decides has
one. Control and measurement are said without a number: `{label}` stands for the number that was printed behind it (see
`printed`). A label without braces quotes its whole line; a claim that names none quotes the first line with a number. A
cell may measure several claims.

`# assert:` says what the verdict rests on, as an expression over printed numbers, with a margin: it has to hold for
other digits too, on every machine on which the cell is run (`solutions/conftest.py`).
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from typing import Any

from qkv.authoring.build.printed import SLOT, VALUE, Printed

LINE = re.compile(r"# (claim|says|verdict|on|control|measured|assert): +(.+)")
HIDDEN = ("# verdict:", "# on:", "# control:", "# measured:", "# assert:")  # from students, until the cell has run
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
VERDICT = re.compile(r"(holds|wrong|not shown)\b")
DEFINED = re.compile(r"(holds|wrong),? (by definition|as an identity)\b")
WITHOUT_CONDITION = re.compile(r"holds(;|$)")  # `holds here`, `holds at rank 4` and `holds if …` name one
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
    control: str = ""  # the arm that could have overturned the verdict, with labels of printed numbers

    @property
    def kind(self) -> str:
        """`holds`, `holds-if` with a condition that it names, `wrong`, `not-shown`, or `defined`: not by experiment."""
        if DEFINED.match(self.verdict):
            return "defined"
        if self.verdict.startswith("wrong"):
            return "wrong"
        if self.verdict.startswith("not shown"):
            return "not-shown"
        return "holds" if WITHOUT_CONDITION.match(self.verdict) else "holds-if"

    @property
    def needs_control(self) -> bool:
        """Whether something has to be said of what could have overturned it, and is not."""
        return self.kind != "defined" and not SLOT.search(self.control)

    def box(self, printed: Printed) -> str:
        """MyST for the page, with the numbers that its cell printed; the ledger links to its target."""
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
                *(["", f"{{.control}}\nControl: {printed.fill(self.control)}"] if self.control else []),
                ":::::",
            ]
        )

    def contradiction(self, printed: Printed) -> str | None:
        """The printed numbers that contradict the verdict, in words; empty if none do. ValueError if a number is
        missing."""
        for assertion in self.asserted:
            values: dict[str, Any] = {}

            def name(slot: re.Match[str], values: dict[str, Any] = values) -> str:
                values[slot[0]] = number(printed.value(slot["label"], int(slot["nth"] or 1)))
                return f"({values[slot[0]]!r})"

            filled = SLOT.sub(name, assertion)
            try:
                holds = eval(filled, {"__builtins__": {}, **FUNCTIONS, **WORDS})
            except Exception as error:
                raise ValueError(f"`# assert: {assertion}` is no question ({error})") from None
            if holds is not True:
                read = ", ".join(f"{slot} is {value}" for slot, value in values.items())
                return f"claim {self.id}: `{assertion}` is not true here, where {read}"
        return None

    def found(self, printed: Printed) -> str:
        """The measured result as Markdown, with the printed numbers. ValueError if they are missing."""
        if not printed.lines:
            raise ValueError("its cell prints nothing that could be quoted")
        if not self.measured:
            return f"`{next((line for line in printed.lines if VALUE.search(line)), printed.lines[0])}`"
        return "; ".join(printed.fill(text) for text in self.measured)


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
            f"the claim {name} has the verdict {head['verdict'][0]!r}; "
            "a verdict begins with holds, holds if, wrong, or not shown"
        )
    return Claim(
        name,
        head["says"][0],
        head["verdict"][0],
        tuple(head.get("measured", ())),
        tuple(head.get("assert", ())),
        " ".join(head.get("on", ())),
        " ".join(head.get("control", ())),
    )


def number(value: str) -> Any:
    """A printed value as Python has it: a number without its spread, a list, True, or the name of an error."""
    plain = value.partition(" ± ")[0].rstrip("%").replace("−", "-")
    if plain.startswith("["):
        return ast.literal_eval(plain)
    if plain.lstrip("-") in WORDS:
        return -WORDS[plain[1:]] if plain.startswith("-") else WORDS[plain]
    return plain if plain.endswith("Error") else float(plain.replace(",", ""))
