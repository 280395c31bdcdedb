"""Number words and numerals: known ones, all of them against an independent reading back, and the split by content."""

from __future__ import annotations

import re

import pytest
import torch

from qkv.tasks.numbers import DIGITS, LIMIT, chinese, english, numbers, origins
from qkv.tasks.translation import BOS, EOS, PAD

KNOWN = {
    0: ("zero", "零"),
    6: ("six", "六"),
    10: ("ten", "十"),
    15: ("fifteen", "十五"),
    20: ("twenty", "二十"),
    101: ("one hundred one", "一百零一"),
    110: ("one hundred ten", "一百一十"),
    1_000: ("one thousand", "一千"),
    1_001: ("one thousand one", "一千零一"),
    1_010: ("one thousand ten", "一千零一十"),
    10_000: ("ten thousand", "一万"),
    10_010: ("ten thousand ten", "一万零一十"),
    12_005: ("twelve thousand five", "一万二千零五"),
    20_300: ("twenty thousand three hundred", "二万零三百"),
    50_807: ("fifty thousand eight hundred seven", "五万零八百零七"),
    99_999: ("ninety nine thousand nine hundred ninety nine", "九万九千九百九十九"),
}
SMALL = "one two three four five six seven eight nine ten eleven twelve"
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = {word: value for value, word in enumerate(f"zero {SMALL} {TEENS}".split())}
WORDS |= {word: 10 * tens for tens, word in enumerate(TENS.split(), 2)}
UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}


def read_english(words: list[str]) -> int:
    total = part = 0
    for word in words:
        if word == "thousand":
            total, part = 1000 * part, 0
        elif word == "hundred":
            part *= 100
        else:
            part += WORDS[word]
    return total + part


def read_chinese(numeral: str) -> int:
    total, digit = 0, None
    for sign in numeral:
        if sign in UNITS:
            total += UNITS[sign] * (1 if digit is None else digit)
            digit = None
        else:
            digit = DIGITS.index(sign)
    return total + (digit or 0)


@pytest.mark.parametrize("n", KNOWN)
def test_known_numbers(n):
    assert (" ".join(english(n)), chinese(n)) == KNOWN[n]


def test_every_number_reads_back_in_both_languages():
    assert all(read_english(english(n)) == n == read_chinese(chinese(n)) for n in range(LIMIT))


def test_all_texts_differ():
    assert len({tuple(english(n)) for n in range(LIMIT)}) == len({chinese(n) for n in range(LIMIT)}) == LIMIT


def test_zeros_stand_between_digits_and_never_twice():
    assert not [n for n in range(1, LIMIT) if re.search("零零|零$|^零|零[十百千万]", chinese(n))]


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (6, [0]),
        (0, [None]),
        (15, [None, 0]),
        (21, [0, None, 1]),
        (110, [0, None, 2, None]),
        (12_005, [0, None, 0, None, None, 2]),  # twelve thousand five, 一万二千零五
        (40_317, [0, None, None, 2, None, 4, None, 4]),  # forty thousand three hundred seventeen, 四万零三百一十七
        (99_999, [0, None, 1, None, 3, None, 5, None, 6]),
    ],
)
def test_which_word_a_digit_comes_from(n, words):
    assert origins(n) == words


def test_digits_come_from_words_that_hold_them():
    for n in range(1, LIMIT, 7):
        words = english(n)
        for sign, origin in zip(chinese(n), origins(n), strict=True):
            assert (origin is None) == (sign not in DIGITS[1:])
            assert origin is None or sign in chinese(WORDS[words[origin]]).replace("十", "十一")


@pytest.mark.parametrize("n", [-1, LIMIT])
@pytest.mark.parametrize("language", [english, chinese])
def test_other_numbers_are_refused(n, language):
    with pytest.raises(ValueError, match=f"^the number is {n}, expected one from 0 to 99,999.$"):
        language(n)


def test_what_is_held_out_never_occurs_in_training():
    task = numbers(300, 50, torch.Generator().manual_seed(0), limit=1000)
    sides = []
    for texts in (task.train, task.test):
        sources = [tuple(task.source.decode(ids)) for ids in texts.source.tolist()]
        targets = ["".join(task.target.decode(ids)) for ids in texts.target.tolist()]
        assert [read_english(list(s)) for s in sources] == [read_chinese(t) for t in targets]
        sides.append(set(sources))
    train, test = sides
    assert (len(train), len(test), len(train & test)) == (300, 50, 0)


def test_targets_end_and_are_padded():
    task = numbers(300, 50, torch.Generator().manual_seed(1), limit=1000)
    assert not (task.train.target == BOS).any()
    assert ((task.train.target == EOS).sum(dim=1) == 1).all()
    after = (task.train.target == EOS).cumsum(dim=1) - (task.train.target == EOS).long() > 0
    assert torch.equal(task.train.target == PAD, after)
    real = torch.arange(task.train.source.shape[1]) < task.train.lengths[:, None]
    assert torch.equal(task.train.source != PAD, real)


def test_the_generator_is_the_only_source_of_chance():
    one, same, other = (numbers(30, 5, torch.Generator().manual_seed(seed), limit=100) for seed in (0, 0, 1))
    assert torch.equal(one.train.source, same.train.source)
    assert not torch.equal(one.train.target, other.train.target)
