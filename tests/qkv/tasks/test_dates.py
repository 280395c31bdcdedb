"""Dates as Babel writes them, in tokens that join to the text; a day of the test set never occurs in training."""

from __future__ import annotations

from datetime import date

import pytest
import torch
from babel.dates import format_date

from qkv.tasks.dates import dates, pair, written

DAY = date(2024, 3, 5)


def test_a_known_day():
    source, target = pair(DAY)
    assert "".join(source) == "Tuesday, March 5, 2024"
    assert target == ["Dienstag", ",", " ", "5", ".", " ", "März", " ", "2", "0", "2", "4"]


@pytest.mark.parametrize("locale", ["en_US", "de_DE", "fr_FR", "es_ES", "zh_CN", "pl_PL"])
def test_tokens_join_to_the_text(locale):
    assert "".join(written(DAY, locale)) == format_date(DAY, format="full", locale=locale)


def test_words_are_whole_and_digits_alone():
    for tokens in pair(date(1999, 12, 31)):
        assert all(len(token) == 1 or token.isalpha() for token in tokens)


def test_the_split_is_by_day_and_by_both_languages():
    task = dates(400, 60, torch.Generator().manual_seed(0))
    found = []
    for texts in (task.train, task.test):
        found.append({"".join(task.source.decode(ids)) for ids in texts.source.tolist()})
        found.append({"".join(task.target.decode(ids)) for ids in texts.target.tolist()})
    assert [len(side) for side in found] == [400, 400, 60, 60]
    assert not found[0] & found[2]
    assert not found[1] & found[3]


def test_other_locales():
    task = dates(20, 5, torch.Generator().manual_seed(0), source="en_GB", target="fr_FR")
    assert {"mars", "dimanche"} <= set(task.target.tokens)
