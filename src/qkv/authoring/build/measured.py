"""Numbers that travel: what a cell shows on this machine against what is stored, which another machine showed.

Words, shapes and whole numbers have to be the same. A number with a decimal point was computed, and another processor
adds up in another order: its last digit may differ by one. A number with a spread, `0.95 ± 0.02`, was measured: it may
differ by three of the stored spreads. Where more is normal, the author says how much, as a tag of the cell:

    within-0.05        numbers with a decimal point may differ by 0.05
    within-20%         … or by a fifth of themselves; of two such tags the kinder counts
    counts-within-3    whole numbers may differ by 3

`solutions/conftest.py` hands what this module lets through to nbval, which compares the rest to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NUMBER = r"(?<![\w.])(?<!\w-)[-−]?(?:\d+(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)"
MEASURE = re.compile(rf"({NUMBER})(?: ± ({NUMBER}))?")
TAG = re.compile(r"(counts-)?within-(\d+(?:\.\d+)?)(%?)")
SPREADS = 3  # a mean over other roundings is rarely farther away than this many of its standard deviations
PICTURES = ("image/png", "image/jpeg")
PHONE = "image/vnd.qkv.phone"  # how `qkv.figures.style` calls a figure's drawing for phones
# A figure that moves: its picture and its data are made of measured numbers; title, controls, words and script are not.
LIVE = re.compile(r"(?<=;base64,)[\w+/=]+|(?<=, draw, ).*(?=\);\n\}\)\(\);</script>)")


@dataclass(frozen=True)
class Tolerance:
    """A tolerance: an amount, a share of the number, and an amount for whole numbers."""

    amount: float = 0.0  # for numbers with a decimal point
    share: float = 0.0  # of the number itself
    count: float = 0.0  # for whole numbers

    @classmethod
    def of(cls, tags: Iterable[str]) -> Tolerance:
        """The tolerance in the tags of a cell; other tags are ignored."""
        amount = share = count = 0.0
        for counts, much, percent in (match.groups() for tag in tags if (match := TAG.fullmatch(tag))):
            if counts:
                count = max(count, float(much))
            elif percent:
                share = max(share, float(much) / 100)
            else:
                amount = max(amount, float(much))
        return cls(amount, share, count)

    def lets(self, stored: re.Match[str], shown: re.Match[str]) -> bool:
        """May one number stand for the other?"""
        if (stored[2] is None) != (shown[2] is None) or _is_whole(stored[1]) != _is_whole(shown[1]):
            return False
        mean, new = _value(stored[1]), _value(shown[1])
        if _is_whole(stored[1]) and stored[2] is None:
            return abs(mean - new) <= self.count
        digit = max(_last_digit(stored[1]), _last_digit(shown[1]))
        stated = max(self.amount, self.share * abs(mean))
        spread, new_spread = (_value(found[2] or "0") for found in (stored, shown))
        near = abs(mean - new) <= max(SPREADS * spread, stated, digit) * (1 + 1e-9)
        return near and new_spread <= max(SPREADS * spread, SPREADS * stated, digit) * (1 + 1e-9)


def with_stored_numbers(stored: str, shown: str, tolerance: Tolerance) -> str:
    """The shown text with every number replaced by the stored one, where the tolerance allows.

    Where nothing else differs either, that is the stored text; columns may be wider or narrower with their numbers.
    """
    old, new = list(MEASURE.finditer(stored)), list(MEASURE.finditer(shown))
    if len(old) != len(new) or _words(stored) != _words(shown):
        return shown
    fits = [tolerance.lets(*pair) for pair in zip(old, new, strict=True)]
    if all(fits):
        return stored
    parts, end = [], 0
    for was, now, fit in zip(old, new, fits, strict=True):
        parts += [shown[end : now.start()], was[0] if fit else now[0]]
        end = now.end()
    return "".join([*parts, shown[end:]])


def comparable(
    stored: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]], tags: Iterable[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A cell's outputs, stored and shown, as they are to be compared: of pictures only that they are there."""
    tolerance = Tolerance.of(tags)
    old, new = [_plain(output) for output in stored], [_plain(output) for output in shown]
    for before, after in zip(old, new, strict=False):
        for kind in before.keys() & after.keys():
            if isinstance(before[kind], str) and isinstance(after[kind], str):
                after[kind] = with_stored_numbers(before[kind], after[kind], tolerance)
        before_data, after_data = before.get("data", {}), after.get("data", {})
        for kind in before_data.keys() & after_data.keys():
            after_data[kind] = with_stored_numbers(before_data[kind], after_data[kind], tolerance)
    return old, new


def _plain(output: Mapping[str, Any]) -> dict[str, Any]:
    """An output without its bytes, and without the drawing for phones, which only the book's own run makes."""
    plain = dict(output)
    if "data" in plain:
        data = {kind: content for kind, content in plain["data"].items() if kind != PHONE}
        plain["data"] = {kind: _words_of(kind, content) for kind, content in data.items()}
    return plain


def _words_of(kind: str, content: Any) -> str:
    if kind in PICTURES:
        return "a picture"
    return LIVE.sub("…", content) if kind == "text/html" else str(content)


def _words(text: str) -> list[str]:
    """The text between the numbers; the width of its spaces is a matter of columns."""
    return MEASURE.sub(" # ", text).split()


def _is_whole(number: str) -> bool:
    return "." not in number and "e" not in number


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def _last_digit(number: str) -> float:
    """The value of one unit in the last digit: 0.001 for 0.998, 100 for 1.8e3."""
    digits, _, power = number.partition("e")
    return float(f"1e{int(power or 0) - len(digits.partition('.')[2])}")
