"""Numbers in prose: read from what the cells printed, so that a sentence and its cell cannot differ.

    It finds {window} of the pairs, the full matrix {full #2:.0%}, and in the section above it was {reach/full}.

A slot stands for the number behind a label (see `printed`) in the nearest cell above that prints such a line;
`{claim-id/label}` names the cell of a claim instead, wherever it stands in the chapter. Behind a colon a slot may say
how its number is written, as an f-string does; a spread is left out then. Code and math are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import nbformat

from qkv.authoring.build.chapter import Code, Part, Prose, Task
from qkv.authoring.build.claims import number
from qkv.authoring.build.printed import Printed
from qkv.course import AuthoringError, Chapter

APART = (
    r"^[ ]*(?:`{3,}|:{3,})\{(?!math|raw|code|index)[^\n]*$"  # the first line of a box, whose body is prose
    r"|^[ ]*(?P<fence>`{3,})[^`\s][^\n]*\n.*?^[ ]*(?P=fence)[ ]*$"
    r"|\$\$.*?\$\$|(?<!\\)\$[^$]*\$|(?P<ticks>`+).*?(?P=ticks)(?!`)|<!--.*?-->"
)
SLOT = r"(?<!\])\{(?P<slot>[^{}`.#%][^{}`]*)\}(?!`)"
PROSE = re.compile(f"(?P<apart>{APART})|{SLOT}", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(
    f"(?P<apart>{APART}|{SLOT})" + r"|(?<![\w.,/–-])(?P<number>\d+(?:,\d{3})*\.\d+(?![\w.]*\w)|\d+(?= ?%))",
    re.MULTILINE | re.DOTALL,
)
PARTS = re.compile(
    r"(?:(?P<claim>[a-z0-9]+(?:-[a-z0-9]+)*)/)?(?P<label>.+?)(?: #(?P<nth>\d+))?(?::(?P<form>[,.\d]*[fg%]))?", re.DOTALL
)
LITERAL = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?")


def with_numbers(chapter: Chapter, parts: Sequence[Part], solved: nbformat.NotebookNode) -> list[Part]:
    """The parts of a chapter with the numbers of its solved edition in their prose.

    Raises:
        AuthoringError: a slot names what no cell has printed.
    """
    cells = iter([Printed.by(cell.outputs) for cell in solved.cells if cell.cell_type == "code"])
    printed: dict[int, Printed] = {}  # by the line of a part
    for part in parts:
        if not isinstance(part, Prose):
            printed[part.line] = next(cells, Printed(""))
        if isinstance(part, Task):
            next(cells, None)  # its check
    of_claim = {claim.id: printed[part.line] for part in parts if isinstance(part, Code) for claim in part.claims}
    above: list[Printed] = []
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Prose):
            try:
                found.append(replace(part, text=fill(part.text, above, of_claim)))
            except ValueError as error:
                raise AuthoringError(f"{chapter.where(part.line)}, in the text that begins there: {error}") from None
        else:
            found.append(part)
            above.insert(0, printed[part.line])
    return found


def fill(text: str, above: Sequence[Printed], of_claim: Mapping[str, Printed]) -> str:
    """A text with the numbers in its slots.

    Args:
        above: what the cells above have printed, the nearest first.
        of_claim: what the cell of each claim has printed.
    """

    def read(found: re.Match[str]) -> str:
        if found["apart"]:
            return found[0]
        slot = PARTS.fullmatch(" ".join(found["slot"].split()))
        assert slot is not None
        claim, label = slot["claim"], slot["label"]
        if claim in of_claim:
            cell = of_claim[claim]
        else:
            label = f"{claim}/{label}" if claim else label
            cell = next((cell for cell in above if cell.lines_of(label)), Printed(""))
        if not cell.lines_of(label):
            raise ValueError(f"the slot {found[0]} names {label!r}, with which no line printed above begins")
        value = cell.value(label, int(slot["nth"] or 1))
        return format(number(value), slot["form"]).replace("%", " %") if slot["form"] else value

    return PROSE.sub(read, text)


def unread(parts: Sequence[Part]) -> Iterator[tuple[int, str]]:
    """Numbers of a chapter's prose that come from nowhere: line in its source, and the number.

    A number with a decimal point, or in per cent, is a slot, or a literal of the chapter's code, or math, or stands in
    a paragraph that cites somebody.
    """
    code = " ".join(part.source if isinstance(part, Code) else "" for part in parts)
    literals = {float(literal.replace("_", "")) for literal in LITERAL.findall(code)}
    for part in parts:
        if not isinstance(part, Prose):
            continue
        for found in MEASURED.finditer(part.text):
            if not found["number"]:
                continue
            value = float(found["number"].replace(",", ""))
            percent = part.text[found.end() :].lstrip().startswith("%")
            if value in literals or (percent and value / 100 in literals):
                continue
            start, end = part.text.rfind("\n\n", 0, found.start()), part.text.find("\n\n", found.end())
            if "{cite:" in part.text[max(start, 0) : end if end >= 0 else None]:
                continue
            yield part.line + part.text.count("\n", 0, found.start()), found["number"]
