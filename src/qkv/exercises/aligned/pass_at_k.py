"""The exercise `pass_at_k`."""

from __future__ import annotations

import math
from typing import Any

from proctor import Exercise
from proctor.inside.inputs import distinct, whole
from proctor.inside.properties import repeats
from proctor.inside.situations import Seen
from qkv.model.aligned import (
    pass_at_k,
)

exercise = Exercise(
    pass_at_k,
    section="How many tries?",
    minutes=10,
    difficulty=2,
    why="Models that write programs are compared by this number, and its obvious estimate is too low.",
    hints=[
        "What is the chance that none of the k is right? It is easier to count.",
        "How many ways are there to take k answers out of n? And how many, if you may take only wrong ones?",
        "A float ends at 1e308, and C(10000, 5000) has three thousand digits. Python's whole numbers do not end, and "
        "two of them can be divided.",
    ],
)


def as_number(result: Any) -> Any:
    """A float; a whole number is one that happens to have nothing after its point."""
    return float(result) if isinstance(result, int) and not isinstance(result, bool) else result


@exercise.probe
def some_answers(pass_at_k: Any) -> Seen:
    """a dozen answers, some of them right"""
    n = whole(12, 20, seed="n")
    right, k = distinct(2, 6, 2, seed="right and k")
    return {"chance": as_number(pass_at_k(n, right, k))}


@exercise.probe
def a_hundred_answers(pass_at_k: Any) -> Seen:
    """a hundred answers, by name: few drawn of which many are right, and many drawn of which few are"""
    n = whole(100, 200, seed="hundred")
    few, many = whole(2, 5, seed="few"), whole(20, 40, seed="many")
    return {
        "few drawn": as_number(pass_at_k(n=n, right=many, k=few)),
        "many drawn": as_number(pass_at_k(n=n, right=few, k=many)),
    }


@exercise.probe
def one_draw(pass_at_k: Any) -> Seen:
    """k = 1, and one right answer only"""
    n = whole(20, 90, seed="n of one")
    some = whole(3, 17, seed="some")
    return {"one draw": as_number(pass_at_k(n, some, 1)), "one right": as_number(pass_at_k(n, 1, some))}


@exercise.probe
def too_many_to_miss(pass_at_k: Any) -> Seen:
    """one draw short of a certain success, and more draws than there are wrong answers"""
    n, right = whole(15, 30, seed="n to miss"), whole(3, 9, seed="right to miss")
    wrong = n - right
    # what is left to 1 is looked at by itself, or it would drown
    return {
        "1 - chance": 1 - as_number(pass_at_k(n, right, min(wrong, 4))),
        "chance · n": as_number(pass_at_k(n, right, min(wrong + 1, n))) * n,
        "chance · right, all drawn": as_number(pass_at_k(n, right, n)) * right,
    }


@exercise.probe
def ten_thousand(pass_at_k: Any) -> Seen:
    """ten thousand answers, three or thousands of them right, three or thousands drawn"""
    thousands = whole(3000, 5000, seed="thousands")
    few = whole(2, 6, seed="few of ten thousand")
    return {
        "few and few": as_number(pass_at_k(10_000, few, 3)),
        "few right": as_number(pass_at_k(10_000, few, thousands)),
        "few drawn": as_number(pass_at_k(10_000, thousands, few)),
    }


@exercise.probe
def nine_digits(pass_at_k: Any) -> Seen:
    """chances near 0 and near 1 among ten thousand answers"""
    right, drawn = whole(6, 12, seed="rare"), whole(6400, 7200, seed="nearly all")
    return {
        "near 0": as_number(pass_at_k(10_000, whole(1, 4, seed="single"), 1)),
        "1 - chance, near 1": 1 - as_number(pass_at_k(10_000, right, drawn)),
    }


@exercise.probe
def both_in_thousands(pass_at_k: Any) -> Seen:
    """ten thousand answers, about fifty right, about a hundred drawn"""
    return {"chance": as_number(pass_at_k(10_000, whole(40, 60, seed="fifty"), whole(80, 120, seed="hundred drawn")))}


@exercise.property
def certain(pass_at_k: Any) -> Seen:
    """no right answer, nothing but right answers, a single answer

    Where no answer is right the chance is 0, where all are right it is 1, and a single answer decides alone.
    """
    n, k = 30, whole(2, 30, seed="any k")
    return {
        "none right": as_number(pass_at_k(n, 0, k)),
        "all right": as_number(pass_at_k(n, n, k)),
        "one answer, right": as_number(pass_at_k(1, 1, 1)),
        "one answer, wrong": as_number(pass_at_k(1, 0, 1)),
    }


exercise.property(repeats(some_answers, a_hundred_answers))


@exercise.misconception
def drawn_with_return(n: int, right: int, k: int) -> float:
    """You take the k answers to be drawn with return: 1 - (1 - right/n)^k.

    Then the same wrong answer may be drawn twice, which makes the chance too small. Here none is put back.
    """
    return float(1 - (1 - right / n) ** k)


@exercise.misconception
def chance_of_none(n: int, right: int, k: int) -> float:
    """You return the chance that *none* of the k is right.

    What is asked for is the chance of at least one.
    """
    return math.comb(n - right, k) / math.comb(n, k)


@exercise.misconception
def all_of_them(n: int, right: int, k: int) -> float:
    """You return the chance that *all* k are right.

    One right answer among them is enough.
    """
    return math.comb(right, k) / math.comb(n, k)


@exercise.misconception
def exactly_one(n: int, right: int, k: int) -> float:
    """You return the chance that *exactly one* of the k is right.

    Two or more right ones are as good.
    """
    return right * math.comb(n - right, k - 1) / math.comb(n, k)


@exercise.misconception
def share_of_the_right(n: int, right: int, k: int) -> float:
    """You return the share of right answers, whatever k is.

    That is the chance for one draw. More draws have a better chance.
    """
    return right / n


@exercise.misconception
def chances_added(n: int, right: int, k: int) -> float:
    """You multiply the chance of one draw by k.

    That counts twice what has two right answers, and can exceed 1, or has to be cut there.
    """
    return min(1.0, k * right / n)


@exercise.misconception
def chances_added_beyond_one(n: int, right: int, k: int) -> float:
    """You multiply the chance of one draw by k, and what comes out may exceed 1.

    That is how many right answers to expect, not how likely it is that there is one.
    """
    return k * right / n


@exercise.misconception
def power_of_the_share(n: int, right: int, k: int) -> float:
    """You raise the share of right answers to the power k.

    That is nearly the chance that all k are right. One of them is enough.
    """
    return float((right / n) ** k)


@exercise.misconception
def too_large_for_a_float(n: int, right: int, k: int) -> float:
    """You turn numbers into floats that are too large for one.

    C(10000, 5000) has three thousand digits, and a float ends at 1e308. Divide whole numbers, or multiply small ratios.
    """
    return 1 - float(math.comb(n - right, k)) / float(math.comb(n, k))


@exercise.misconception
def in_percent(n: int, right: int, k: int) -> float:
    """You return percent.

    A chance is a number from 0 to 1.
    """
    return 100 * pass_at_k(n, right, k)


@exercise.misconception
def one_draw_too_few(n: int, right: int, k: int) -> float:
    """You draw one answer less than k.

    A product over the draws has k factors, the first for 0 draws before it.
    """
    return 1 - math.comb(n - right, k - 1) / math.comb(n, k - 1)


@exercise.misconception
def share_never_renewed(n: int, right: int, k: int) -> float:
    """With each draw you take one from the wrong answers, but not from all.

    A draw leaves one answer less in all: after i draws n - i are left.
    """
    return 1 - math.prod(max(n - right - i, 0) / n for i in range(k))


@exercise.misconception
def certain_with_any(n: int, right: int, k: int) -> float:
    """Your chance is 1 as soon as any of the n answers is right.

    Among all n there is one then, but it may not be among the k that are drawn. (`//` does so too: it makes 0 of every
    ratio below 1.)
    """
    return float(right > 0)
