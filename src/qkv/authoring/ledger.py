"""The claims ledger, `book/claims.md`: what people say, chapter by chapter, the verdict, and the number that decided.

Cells are the one source of all that is measured (`claims`, and the outputs in `solutions/`). `book/claims.toml` has the
rest: which statements of the course's list a claim decides, claims of chapters to come, and what no cell can decide.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nbformat

from qkv.authoring.chapter import Code, Part, read
from qkv.authoring.claims import Claim
from qkv.course import AuthoringError, Chapter, Course, Facts

LIST = "book/claims.toml"
KINDS = {"holds": "hold", "holds-if": "hold under a condition", "wrong": "are wrong"}


@dataclass(frozen=True)
class Entry:
    """A claim that a cell has measured; `found` is Markdown with the numbers of the stored output."""

    claim: Claim
    found: str


def entries(chapter: Chapter, parts: list[Part], solved: nbformat.NotebookNode) -> list[Entry]:
    """The claims of one chapter in its order, with what the solved edition printed."""
    printed = {cell.source: _printed(cell) for cell in solved.cells if cell.cell_type == "code"}
    found = []
    for part in parts:
        if not isinstance(part, Code):
            continue
        for claim in part.claims:
            where = chapter.where(part.line)
            if not claim.asserted and "nbval-ignore-output" not in part.tags:
                raise AuthoringError(
                    f"{where}: the claim {claim.id} needs a line `# assert: …`: what its verdict rests on"
                )
            if part.source not in printed:
                raise AuthoringError(f"{where}: was not run as it stands now. Run it with: qkv build {chapter.stem}")
            try:
                contradiction = claim.contradiction(printed[part.source])
                found.append(Entry(claim, claim.found(printed[part.source])))
            except ValueError as error:
                raise AuthoringError(f"{where}: {error}") from None
            if contradiction:
                raise AuthoringError(f"{where}: {contradiction}. Mend the verdict, or what it rests on.")
    return found


def ledger(course: Course) -> str:
    """The page below its opening words, as MyST."""
    measured = {chapter: _stored(course, chapter) for chapter in course.chapters()}
    chapters, undecided = _listed(course)
    ids = Counter(entry.claim.id for found in measured.values() for entry in found)
    if twice := [name for name, n in ids.items() if n > 1]:
        raise AuthoringError(f"Two cells have the same claim: {', '.join(twice)}. Give one of them another id.")
    waiting = {
        stem: [claim for name, claim in claims.items() if name not in ids and claim["says"]]
        for stem, claims in chapters.items()
    }
    kinds = Counter(entry.claim.kind for found in measured.values() for entry in found)
    return "\n\n".join(
        [
            *_counts(kinds, sum(len(claims) for claims in waiting.values())),
            *(_group(chapter, found, waiting.pop(chapter.stem, [])) for chapter, found in measured.items() if found),
            *(["## Chapters to come"] if any(waiting.values()) else []),
            *(_to_come(claims[0]["chapter"], claims) for claims in waiting.values() if claims),
            "## What a cell cannot decide",
            "History, taste, the future, and numbers that only their owners know. We looked it up, or leave it open.",
            *(_entry("open", claim["says"], claim["why"]) for claim in undecided),
        ]
    )


def gaps(course: Course) -> list[str]:
    """What keeps the ledger from covering the list of statements, one sentence each."""
    chapters, undecided = _listed(course)
    here = {chapter.stem for chapter in course.chapters()}
    ids = {entry.claim.id for chapter in course.chapters() for entry in _stored(course, chapter)}
    found = [
        f"[{stem}] {name}: the chapter is in the book, but no cell of it measures this claim"
        for stem, claims in chapters.items()
        for name in claims
        if stem in here and name not in ids
    ]
    found += [
        f"[{stem}] {name}: the chapter is still to come, so say the claim: says = …"
        for stem, claims in chapters.items()
        for name, claim in claims.items()
        if stem not in here and name not in ids and not claim["says"]
    ]
    covered = {n for claims in chapters.values() for claim in claims.values() for n in claim["of"]}
    covered |= {n for claim in undecided for n in claim["of"]}
    found += [
        f"statement {n} is covered by nothing" for n in range(1, _read(course)["statements"] + 1) if n not in covered
    ]
    return found


def _counts(kinds: Counter[str], waiting: int) -> Iterator[str]:
    total = sum(kinds.values())
    counts = ", ".join(f"**{kinds[kind]}** {words}" for kind, words in KINDS.items())
    yield f"{{.counts}}\nOf **{total}** claims that were measured, {counts}. **{waiting}** wait for their chapter."
    shown = [
        ("all", total + waiting, "all-claims"),
        *((words.removeprefix("are "), kinds[kind], f"only-{kind}") for kind, words in KINDS.items()),
        ("to come", waiting, "only-to-come"),
    ]
    links = "".join(f'<a id="{anchor}" href="#{anchor}">{words} ({n})</a> ' for words, n, anchor in shown)
    yield f'<nav class="filter" aria-label="Which claims to show"><span>Show</span> {links}</nav>'


def _group(chapter: Chapter, found: list[Entry], waiting: list[dict[str, Any]]) -> str:
    text = chapter.source.read_text(encoding="utf-8")
    title = next(line[2:] for line in text.splitlines() if line.startswith("# "))
    rows = [f"## Chapter {chapter.number}: {title}"]
    for entry in found:
        claim = entry.claim
        link = f"{{ref}}`the cell <claim-{claim.id}>`"
        rows.append(_entry(claim.kind, f"“{claim.says}”", f"[{claim.verdict}]{{.verdict}}", f"{entry.found} · {link}"))
    return "\n\n".join([*rows, *(_entry("to-come", f"“{claim['says']}”", "not measured yet") for claim in waiting)])


def _to_come(title: str, claims: list[dict[str, Any]]) -> str:
    return "\n\n".join([f"### {title}", *(_entry("to-come", f"“{claim['says']}”") for claim in claims)])


def _entry(kind: str, says: str, *below: str) -> str:
    lines = [f":::{{container}} entry {kind}", "{.says}", says]
    for text in below:
        lines += ["", "{.below}", text]
    return "\n".join([*lines, ":::"])


def _stored(course: Course, chapter: Chapter) -> list[Entry]:
    parts = read(chapter, Course(course.root, lambda name: Facts()))
    if not chapter.solved.is_file():
        raise AuthoringError(f"{chapter.where()}: has no solved edition. Make it with: qkv build {chapter.stem}")
    return entries(chapter, parts, nbformat.read(chapter.solved, as_version=4))


def _listed(course: Course) -> tuple[dict[str, dict[str, dict[str, Any]]], list[dict[str, Any]]]:
    """Stem -> id -> claim, and what cannot be decided."""
    data = _read(course)
    chapters = {}
    for stem, claims in data["chapters"].items():
        title = claims.pop("title", stem)
        chapters[stem] = {
            name: {"says": "", "chapter": title, **(claim if isinstance(claim, dict) else {"of": claim})}
            for name, claim in claims.items()
        }
    return chapters, data["undecided"]


def _read(course: Course) -> dict[str, Any]:
    return tomllib.loads((course.root / LIST).read_text(encoding="utf-8"))


def _printed(cell: nbformat.NotebookNode) -> str:
    return "\n".join(output.text for output in cell.outputs if output.output_type == "stream")
