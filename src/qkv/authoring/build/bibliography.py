"""Citations of book/references.bib: `{cite:t}` and `{cite:p}` are sphinxcontrib-bibtex's on the page, links in
notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

PLACE = "book/references.bib"
STYLE = "author_year_round"  # the name in _config.yml


@dataclass(frozen=True)
class Citation:
    """A work to cite: authors, year, link."""

    authors: str
    year: str
    url: str

    @property
    def textual(self) -> str:
        return f"[{self.authors} ({self.year})]({self.url})"

    @property
    def parenthetical(self) -> str:
        return f"([{self.authors}, {self.year}]({self.url}))"


def citations(root: Path) -> dict[str, Citation]:
    """The works of book/references.bib, by key."""
    path = root / PLACE
    return citations_of(path.read_text(encoding="utf-8")) if path.is_file() else {}


@cache  # the same for every chapter
def citations_of(bibtex: str) -> dict[str, Citation]:
    from pybtex.database import parse_string

    found = {}
    for key, entry in parse_string(bibtex, bib_format="bibtex").entries.items():
        people = entry.persons["author"]
        names = [
            " ".join(str(part) for part in person.rich_prelast_names + person.rich_last_names) for person in people
        ]
        authors = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        arxiv = entry.fields.get("eprint")
        found[key] = Citation(
            authors, entry.fields["year"], f"https://arxiv.org/abs/{arxiv}" if arxiv else entry.fields.get("url", "")
        )
    return found


def use_round_brackets() -> None:
    """The page cites as notebooks do: Vaswani et al. (2017)."""
    from sphinxcontrib.bibtex.plugin import register_plugin
    from sphinxcontrib.bibtex.style.referencing import BracketStyle
    from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

    class RoundAuthorYear(AuthorYearReferenceStyle):
        def __init__(self) -> None:
            round_ones = BracketStyle(left="(", right=")")
            super().__init__(bracket_textual=round_ones, bracket_parenthetical=round_ones)

    register_plugin("sphinxcontrib.bibtex.style.referencing", STYLE, RoundAuthorYear)
