"""The page spares its readers alt texts in code."""

from __future__ import annotations

from qkv.authoring.publish.shorten_alts import shorten_alt


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
