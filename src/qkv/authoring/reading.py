"""What a reader of the page is spared: words that are there for the machine, and verdicts before the result."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

CLAIM = re.compile(r"# (claim|says|verdict): +(.+)")
SPARED = 24  # characters of alt text that may stay in the code


@dataclass(frozen=True)
class Claim:
    """What people say, and what the cell above it found. Verdicts begin with holds, holds if, or wrong."""

    id: str
    says: str
    verdict: str

    @property
    def kind(self) -> str:
        if self.verdict.startswith("wrong"):
            return "wrong"
        return "holds" if self.verdict.rstrip(".") == "holds" else "holds-if"

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
                ":::::",
            ]
        )


def take_claim(source: str) -> tuple[Claim | None, str]:
    """The claim at the head of a cell, and the code below it. Without all three lines the cell stays as it is."""
    lines = source.splitlines()
    found: dict[str, str] = {}
    while lines and (match := CLAIM.fullmatch(lines[0].rstrip())):
        found[match[1]] = match[2]
        lines.pop(0)
    if set(found) != {"claim", "says", "verdict"}:
        return None, source
    return Claim(found["claim"], found["says"], found["verdict"]), "\n".join(lines)


def shorten_alt(source: str) -> str:
    """Alt texts are on the pictures; in the code of the page three dots stand for them."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic
        return source
    spans = [
        (_offset(source, value.lineno, value.col_offset), _offset(source, value.end_lineno, value.end_col_offset))
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "alt" and _is_long_text(value := keyword.value)
    ]
    for start, end in sorted(spans, reverse=True):
        source = source[:start] + '"…"' + source[end:]
    return source


def _is_long_text(value: ast.expr) -> bool:
    is_text = isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))
    return is_text and len(ast.unparse(value)) > SPARED


def _offset(source: str, line: int | None, column: int | None) -> int:
    """Where a line and a column in UTF-8 bytes, as the syntax tree has them, are in the text."""
    lines = source.splitlines(keepends=True)
    before = lines[(line or 1) - 1].encode()[: column or 0].decode()
    return sum(len(row) for row in lines[: (line or 1) - 1]) + len(before)
