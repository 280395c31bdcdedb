"""Dates in one locale into dates in another, as Babel writes them: Tuesday, March 5, 2024 → Dienstag, 5. März 2024.

Words change, and so does the order. Weekdays and months are words, everything else is one character a token.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

import torch
from babel.dates import format_date

from qkv.tasks.translation import Pair, Translation, translation

FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)


def written(day: date, locale: str) -> list[str]:
    """A date in full, in tokens; joined, they are the text exactly."""
    return re.findall(r"[^\W\d_]+|.", format_date(day, format="full", locale=locale))


def pair(day: date, source: str = "en_US", target: str = "de_DE") -> Pair:
    """A date in two locales."""
    return written(day, source), written(day, target)


def dates(
    n_train: int, n_test: int, generator: torch.Generator, source: str = "en_US", target: str = "de_DE"
) -> Translation:
    """Days from 1950 to 2049, drawn evenly; a day of the test set never occurs in training."""
    days = (FIRST + timedelta(days=n) for n in range((LAST - FIRST).days + 1))
    return translation([pair(day, source, target) for day in days], n_train, n_test, generator)
