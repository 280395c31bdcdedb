"""The claims ledger, `book/claims.md`: what people say, chapter by chapter, the verdict, and the number that decided.

Cells are the one source of all that is measured (`claims`, and the outputs in `solutions/`). `book/statements.txt` is
the numbered list of what texts on Transformers say. `book/claims.toml` has the rest: which of these statements a claim
decides, claims of chapters to come, what the literature has decided, and what cannot be decided here.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nbformat

from qkv.authoring.build.chapter import Code, Part, Prose, read_chapter
from qkv.authoring.build.claims import Claim
from qkv.authoring.build.printed import Printed
from qkv.authoring.publish.page import stored_facts
from qkv.course import AuthoringError, Chapter, Course

LIST, STATEMENTS = "book/claims.toml", "book/statements.txt"
KINDS = {
    "holds": "hold",
    "holds-if": "hold under a condition",
    "wrong": "are wrong",
    "not-shown": "are not shown",
    "defined": "are decided by a definition or an identity",
}
SHOWN = {
    "holds": "hold",
    "holds-if": "hold under a condition",
    "wrong": "wrong",
    "not-shown": "not shown",
    "defined": "by definition",
}
HEADING = re.compile(r"^#{1,4} +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A claim that a cell has measured; `found` is Markdown with the numbers of the stored output."""

    claim: Claim
    found: str
    control: str  # what could have overturned it; Markdown as well
    chapter: int  # its number
    section: str  # in which the cell stands

    @property
    def link(self) -> str:
        return f"{{ref}}`{self.section} <claim-{self.claim.id}>`"


def measured_claims(chapter: Chapter, parts: list[Part], solved: nbformat.NotebookNode) -> list[Entry]:
    """The claims of one chapter in order, with the printed numbers of the solved edition."""
    printed = {cell.source: Printed.by(cell.outputs) for cell in solved.cells if cell.cell_type == "code"}
    found = []
    section = chapter.name
    for part in parts:
        if isinstance(part, Prose) and (headings := HEADING.findall(part.text)):
            section = re.sub(r"[`$<>]", "", headings[-1])
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
                control = printed[part.source].fill(claim.control) if claim.control else ""
                found.append(Entry(claim, claim.found(printed[part.source]), control, chapter.number, section))
            except ValueError as error:
                raise AuthoringError(f"{where}: claim {claim.id}: {error}") from None
            if contradiction:
                raise AuthoringError(f"{where}: {contradiction}. Mend the verdict, or what it rests on.")
    return found


def ledger(course: Course) -> str:
    """The page below its opening words, as MyST."""
    measured = {chapter: _stored(course, chapter) for chapter in course.chapters()}
    entry_of = {entry.claim.id: entry for found in measured.values() for entry in found}
    if twice := [
        name for name, n in Counter(e.claim.id for found in measured.values() for e in found).items() if n > 1
    ]:
        raise AuthoringError(f"Two cells have the same claim: {', '.join(twice)}. Give one of them another id.")
    listed = _listed(course)
    waiting = {
        stem: [claim for name, claim in claims.items() if name not in entry_of and claim["says"]]
        for stem, claims in listed.chapters.items()
    }
    own = set(entry_of) - {name for claims in listed.chapters.values() for name in claims}
    return "\n\n".join(
        [
            *_counts(entry_of, own, listed),
            *_minds(listed.minds, entry_of),
            *(
                _group(chapter, found, own, waiting.pop(chapter.stem, []))
                for chapter, found in measured.items()
                if found
            ),
            *(["## Chapters to come"] if any(waiting.values()) else []),
            *(_to_come(claims[0]["chapter"], claims) for claims in waiting.values() if claims),
            *(["## What the literature has decided"] if listed.literature else []),
            *(
                _entry("literature", f"“{claim['says']}”", f"[{claim['verdict']}]{{.verdict}}", claim["why"])
                for claim in listed.literature
            ),
            "## What cannot be decided here",
            "Taste, the future, what only its owners know, and what no experiment of this size can show.",
            *(_entry("open", f"“{claim['says']}”", claim["why"]) for claim in listed.undecided),
            *_numbered(course, listed, entry_of),
        ]
    )


def gaps(course: Course) -> list[str]:
    """Statements of the list that the ledger does not cover, one sentence each."""
    listed = _listed(course)
    here = {chapter.stem for chapter in course.chapters()}
    ids = {entry.claim.id for chapter in course.chapters() for entry in _stored(course, chapter)}
    found = [
        f"[{stem}] {name}: the chapter is in the book, but no cell of it measures this claim"
        for stem, claims in listed.chapters.items()
        for name in claims
        if stem in here and name not in ids
    ]
    found += [
        f"[{stem}] {name}: the chapter is still to come, so say the claim: says = …"
        for stem, claims in listed.chapters.items()
        for name, claim in claims.items()
        if stem not in here and name not in ids and not claim["says"]
    ]
    found += [f"minds: no cell measures {name}" for name in listed.minds if name not in ids]
    statements = _statements(course)
    decided = listed.decided()
    found += [f"statement {n} is covered by nothing" for n in statements if n not in decided]
    found += [f"statement {n} is decided, but {STATEMENTS} does not have it" for n in decided if n not in statements]
    return found


@dataclass(frozen=True)
class Listed:
    """The content of `book/claims.toml`: claims by stem and id, those to start with, claims of the literature,
    undecidable ones."""

    chapters: dict[str, dict[str, dict[str, Any]]]  # stem -> id of a claim -> its entry
    minds: list[str]  # ids of the claims to start with
    literature: list[dict[str, Any]]  # claims that others decided
    undecided: list[dict[str, Any]]  # statements that cannot be decided here

    def decided(self) -> dict[int, list[str]]:
        """Statement -> ids of the claims that decide it; none where no cell does."""
        found: dict[int, list[str]] = {}
        for claims in self.chapters.values():
            for name, claim in claims.items():
                for n in claim["of"]:
                    found.setdefault(n, []).append(name)
        for claim in [*self.literature, *self.undecided]:
            for n in claim["of"]:
                found.setdefault(n, [])
        return found


def _counts(entry_of: dict[str, Entry], own: set[str], listed: Listed) -> Iterator[str]:
    kinds = Counter(entry.claim.kind for entry in entry_of.values())
    decided = listed.decided()
    by_cells = [n for n, names in decided.items() if any(name in entry_of for name in names)]
    waiting = [n for n, names in decided.items() if names and n not in by_cells]
    to_come = sum(
        claim["says"] != "" and name not in entry_of for c in listed.chapters.values() for name, claim in c.items()
    )
    counts = ", ".join(f"**{kinds[kind]}** {words}" for kind, words in KINDS.items())
    yield f"{{.counts}}\nOf **{len(entry_of)}** claims that have a cell, {counts}."
    yield (
        f"{{.sources}}\n**{len(own)}** of them are questions of the book's own. The others decide {len(by_cells)} of "
        f"the {len(decided)} statements that are listed at the end of this page"
        f"{f'; {len(waiting)} statements wait for their chapter' if waiting else ''}, and "
        f"{len(decided) - len(by_cells) - len(waiting)} are left to the literature or cannot be decided here."
    )
    shown = [
        ("all", len(entry_of) + to_come, "all-claims"),
        *((words, kinds[kind], f"only-{kind}") for kind, words in SHOWN.items()),
        *([("to come", to_come, "only-to-come")] if to_come else []),
    ]
    links = "".join(f'<a id="{anchor}" href="#{anchor}">{words} ({n})</a> ' for words, n, anchor in shown)
    yield f'<nav class="filter" aria-label="Which claims to show"><span>Show</span> {links}</nav>'


def _minds(ids: list[str], entry_of: dict[str, Entry]) -> Iterator[str]:
    found = [entry_of[name] for name in ids if name in entry_of]
    if found:
        yield "## The ones that change minds"
        yield "\n".join(
            f"{n}. “{entry.claim.says}” **{entry.claim.verdict[:1].upper()}{entry.claim.verdict[1:]}.** "
            f"Measured: {entry.found} (chapter {entry.chapter}, {entry.link})."
            for n, entry in enumerate(found, 1)
        )


def _group(chapter: Chapter, found: list[Entry], own: set[str], waiting: list[dict[str, Any]]) -> str:
    text = chapter.source.read_text(encoding="utf-8")
    title = next(line[2:] for line in text.splitlines() if line.startswith("# "))
    rows = [f"## Chapter {chapter.number}: {title}"]
    for entry in found:
        claim = entry.claim
        below = [f"[{claim.verdict}]{{.verdict}}"]
        below += [f"Measured on: {claim.on}"] if claim.on else []
        below += [f"Control: {entry.control}"] if entry.control else []
        below += [f"{entry.found} · {entry.link}" + (" · the book's own question" if claim.id in own else "")]
        rows.append(_entry(claim.kind, f"“{claim.says}”", *below))
    return "\n\n".join([*rows, *(_entry("to-come", f"“{claim['says']}”", "not measured yet") for claim in waiting)])


def _numbered(course: Course, listed: Listed, entry_of: dict[str, Entry]) -> Iterator[str]:
    """The list that all numbers point to, each statement with the cells that decide it."""
    rest = {n: "the literature, above" for claim in listed.literature for n in claim["of"]}
    rest |= {n: "cannot be decided here, see above" for claim in listed.undecided for n in claim["of"]}
    rows = []
    for n, says in _statements(course).items():
        names = listed.decided().get(n, [])
        cells = [entry_of[name] for name in names if name in entry_of]
        where = [f"chapter {cell.chapter}, {cell.link}" for cell in cells] or [rest.get(n, "its chapter is to come")]
        rows.append(f"{n}. {says} ({'; '.join(where)})")
    if rows:
        yield "## The statements"
        yield f"What {len(rows)} sentences of five texts on Transformers say, in our words, and where each is decided."
        yield "\n".join(["::::{dropdown} All statements, numbered", *rows, "::::"])


def _to_come(title: str, claims: list[dict[str, Any]]) -> str:
    return "\n\n".join([f"### {title}", *(_entry("to-come", f"“{claim['says']}”") for claim in claims)])


def _entry(kind: str, says: str, *below: str) -> str:
    lines = [f":::{{container}} entry {kind}", "{.says}", says]
    for text in below:
        lines += ["", "{.below}", text]
    return "\n".join([*lines, ":::"])


def _stored(course: Course, chapter: Chapter) -> list[Entry]:
    if not chapter.solved.is_file():
        raise AuthoringError(f"{chapter.where()}: has no solved edition. Make it with: qkv build {chapter.stem}")
    solved = nbformat.read(chapter.solved, as_version=4)
    return measured_claims(chapter, read_chapter(chapter, Course(course.root, stored_facts(chapter, solved))), solved)


def _listed(course: Course) -> Listed:
    data = tomllib.loads((course.root / LIST).read_text(encoding="utf-8"))
    chapters = {}
    for stem, claims in data["chapters"].items():
        title = claims.pop("title", stem)
        chapters[stem] = {
            name: {"says": "", "chapter": title, **(claim if isinstance(claim, dict) else {"of": claim})}
            for name, claim in claims.items()
        }
    return Listed(chapters, data.get("minds", []), data.get("literature", []), data.get("undecided", []))


def _statements(course: Course) -> dict[int, str]:
    """Number -> statement, as `book/statements.txt` has them: one to a line, behind its number."""
    lines = (course.root / STATEMENTS).read_text(encoding="utf-8").splitlines()
    found = {int(number): says for number, _, says in (line.partition(" ") for line in lines)}
    if list(found) != list(range(1, len(lines) + 1)):
        raise AuthoringError(f"{STATEMENTS}: its lines are numbered from 1, without a gap.")
    return found
