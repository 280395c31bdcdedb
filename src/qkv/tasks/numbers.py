"""English number words into Chinese numerals, 0 to 99,999: twelve thousand five → 一万二千零五.

The two languages cut a number differently, at thousands and at ten thousands, so the order of digits stays and their
units do not. Chinese also says one zero for each gap.
"""

from __future__ import annotations

import torch

from qkv.tasks.translation import Pair, Translation, translation

LIMIT = 100_000
BELOW_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
MULTIPLES_OF_TEN = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL, TENS = BELOW_TWENTY.split(), MULTIPLES_OF_TEN.split()
DIGITS = "零一二三四五六七八九"
UNITS = ("万", "千", "百", "十", "")


def english(n: int) -> list[str]:
    """The words of a number, without hyphens and "and": 21,005 is twenty one thousand five."""
    in_range(n)
    if n >= 1000:
        return [*english(n // 1000), "thousand", *rest(n % 1000)]
    if n >= 100:
        return [SMALL[n // 100], "hundred", *rest(n % 100)]
    if n >= 20:
        return [TENS[n // 10 - 2], *rest(n % 10)]
    return [SMALL[n]]


def rest(n: int) -> list[str]:
    return english(n) if n else []


def chinese(n: int) -> str:
    """The numeral of a number: each digit with its unit, one 零 for a gap inside, 十 alone for ten to nineteen."""
    in_range(n)
    if n == 0:
        return DIGITS[0]
    digits = f"{n:05d}"
    said = ""
    gap = False
    for digit, unit in zip(digits, UNITS, strict=True):
        if digit == "0":
            gap = bool(said)
            continue
        said += DIGITS[0] * gap + DIGITS[int(digit)] + unit
        gap = False
    return said.removeprefix("一") if said.startswith("一十") else said


def origins(n: int) -> list[int | None]:
    """For each character of the numeral, which English word its digit comes from; None for units and zeros."""
    words, numeral = english(n), chinese(n)
    base = 3 if "thousand" in words else 0
    place_of: dict[int, int] = {}  # decimal place -> word
    for i, word in enumerate(words):
        if word == "thousand":
            base = 0
        elif word == "hundred":
            place_of[base + 2] = place_of.pop(base)
        elif word in TENS:
            place_of[base + 1] = i
        elif SMALL.index(word) >= 10:
            place_of[base] = place_of[base + 1] = i
        else:
            place_of[base] = i
    places = [UNITS[::-1].index(after) if after in UNITS else 0 for after in numeral[1:] + DIGITS[0]]
    return [place_of[place] if sign in DIGITS[1:] else None for sign, place in zip(numeral, places, strict=True)]


def in_range(n: int) -> None:
    if not 0 <= n < LIMIT:
        raise ValueError(f"the number is {n}, expected one from 0 to {LIMIT - 1:,}.")


def pair(n: int) -> Pair:
    """A number in both languages, in tokens: English words, Chinese characters."""
    return english(n), list(chinese(n))


def numbers(n_train: int, n_test: int, generator: torch.Generator, limit: int = LIMIT) -> Translation:
    """Numbers below `limit`, drawn evenly; a number of the test set never occurs in training."""
    return translation([pair(n) for n in range(limit)], n_train, n_test, generator)
