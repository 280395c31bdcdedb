"""The page spares its readers alt texts in code and verdicts before the result."""

from __future__ import annotations

import pytest

from qkv.authoring.reading import shorten_alt, take_claim

CELL = """# claim: dot-is-direction
# says: A large dot product means the same direction.
# verdict: holds if all keys have the same length
x = 1
# says: not here
"""


def test_a_claim_is_taken_from_the_head_of_its_cell() -> None:
    claim, code = take_claim(CELL)
    assert claim is not None
    assert (claim.id, claim.kind) == ("dot-is-direction", "holds-if")
    assert code == "x = 1\n# says: not here"
    assert claim.box.startswith("(claim-dot-is-direction)=\n:::::{admonition} Claim\n:class: claim holds-if\n")
    assert "“A large dot product means the same direction.”" in claim.box
    assert "Verdict: holds if all keys have the same length" in claim.box


@pytest.mark.parametrize(
    ("verdict", "kind"), [("holds", "holds"), ("holds if x", "holds-if"), ("wrong: it grows", "wrong")]
)
def test_kinds_of_verdict(verdict: str, kind: str) -> None:
    claim, _ = take_claim(f"# claim: a\n# says: b\n# verdict: {verdict}\n")
    assert claim is not None
    assert claim.kind == kind


def test_a_cell_without_all_three_lines_stays_as_it_is() -> None:
    for source in ("x = 1", "# claim: only-an-id\nx = 1", "x = 1\n# claim: a\n# says: b\n# verdict: c"):
        assert take_claim(source) == (None, source)


def test_long_alt_texts_are_three_dots() -> None:
    source = """ß = "ü"; figures.show(fig, alt="Eine Linie, die überall steigt, "
             "und dann fällt.")
figures.show(other, alt=f"A bar of height {height} and one more")
figures.show(third, alt="A line.")
"""
    assert shorten_alt(source) == (
        'ß = "ü"; figures.show(fig, alt="…")\nfigures.show(other, alt="…")\nfigures.show(third, alt="A line.")\n'
    )
    assert shorten_alt("%time f(alt='long enough to be shortened, surely')") == (
        "%time f(alt='long enough to be shortened, surely')"
    )
