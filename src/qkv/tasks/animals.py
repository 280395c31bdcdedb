"""Sentences about who eats what and where, from a grammar that knows how likely each of them is.

    the dogs near the river near the house eat bones often .

The verb agrees with the subject in number, and the food with the animal, over none to three places in between. So no
short memory is enough, the entropy is known exactly, and the grammar can judge whatever a model writes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

ONE = ("cat", "dog", "bird", "horse", "child", "robot")
MANY = ("cats", "dogs", "birds", "horses", "children", "robots")
FOODS = ("fish", "bones", "seeds", "hay", "bread", "oil")  # of each animal, in the same order
PLACES = ("garden", "house", "river", "forest")
ONE_DOES, MANY_DO = ("eats", "wants", "finds"), ("eat", "want", "find")
WHEN = ("today", "often", "again", "here")
WORDS = (".", "the", "near", *ONE, *MANY, *FOODS, *PLACES, *ONE_DOES, *MANY_DO, *WHEN)  # a word's id is its place here
STOP = WORDS.index(".")

AGAIN, MOST = 0.6, 3  # how likely another place is, and how many there are at most
LONGEST = 2 + 3 * MOST + 2 + 1 + 1  # words of a sentence, its full stop included


def sentences(n: int, generator: torch.Generator, by_place: bool = False) -> list[list[str]]:
    """Draw n sentences, as words; each ends with a full stop.

    Args:
        by_place: another world, in which the last place that is named decides the food: fish in the garden, bones at
            the house, seeds at the river, hay in the forest. Where none is named, the animal decides as ever.
    """
    animal, number, verb, when = (torch.randint(k, (n,), generator=generator).tolist() for k in (6, 2, 3, 8))
    go_on = (torch.rand(n, MOST, generator=generator) < AGAIN).long().cumprod(dim=1).sum(dim=1).tolist()
    places = torch.randint(len(PLACES), (n, MOST), generator=generator).tolist()
    found = []
    for i in range(n):
        where = places[i][: go_on[i]]
        food = where[-1] if by_place and where else animal[i]
        words = ["the", (ONE, MANY)[number[i]][animal[i]]]
        for place in where:
            words += ["near", "the", PLACES[place]]
        words += [(ONE_DOES, MANY_DO)[number[i]][verb[i]], FOODS[food]]
        found.append([*words, *WHEN[when[i] : when[i] + 1], "."])  # in half of all cases no adverb
    return found


def ids_of(words: Sequence[str]) -> list[int]:
    """Words as ids."""
    return [WORDS.index(word) for word in words]


def nats(sentence: Sequence[str]) -> float:
    """How surprising a sentence of the grammar is: minus the logarithm of its probability."""
    n_places = sum(word in PLACES for word in sentence)
    chosen = [1 / len(ONE), 1 / 2, *[AGAIN / len(PLACES)] * n_places, 1 / len(ONE_DOES)]
    chosen += [1 - AGAIN] if n_places < MOST else []
    chosen += [1 / 8 if sentence[-2] in WHEN else 1 / 2]
    return -sum(map(math.log, chosen))


def entropy() -> float:
    """The mean surprise of a word, in nats, to whoever knows the grammar. No model can have less in the long run."""
    likely = [AGAIN**k * (1 - AGAIN) for k in range(MOST)] + [AGAIN**MOST]  # of k places
    surprise = length = 0.0
    for k, p in enumerate(likely):
        about = math.log(6 * 2 * 3 * 4**k / p) + math.log(2) + 0.5 * math.log(4)  # the last two: an adverb, and which
        surprise += p * about
        length += p * (2 + 3 * k + 2 + 0.5 + 1)
    return surprise / length


def grammatical(words: Sequence[str]) -> bool:
    """Could the grammar have said this sentence? Its full stop included."""
    if len(words) < 5 or words[0] != "the" or words[1] not in ONE + MANY or words[-1] != ".":
        return False
    plural = words[1] in MANY
    animal = (MANY if plural else ONE).index(words[1])
    rest = list(words[2:-1])
    for _ in range(MOST):
        if rest[:2] == ["near", "the"] and len(rest) > 2 and rest[2] in PLACES:
            rest = rest[3:]
    verbs = MANY_DO if plural else ONE_DOES
    return len(rest) in (2, 3) and rest[0] in verbs and rest[1] == FOODS[animal] and set(rest[2:]) <= set(WHEN)
