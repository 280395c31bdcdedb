"""Animals: what the grammar says, how surprising it is, and what it accepts."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from qkv.tasks import animals


def drawn(n: int, seed: int = 0, **world: bool) -> list[list[str]]:
    return animals.sentences(n, torch.Generator().manual_seed(seed), **world)


def test_what_is_drawn_is_accepted_and_made_of_its_words() -> None:
    found = drawn(500)
    assert all(map(animals.grammatical, found))
    assert {word for words in found for word in words} == set(animals.WORDS)
    assert max(map(len, found)) == animals.LONGEST
    assert min(map(len, found)) == 5
    assert [animals.WORDS[i] for i in animals.ids_of(found[0])] == found[0]


def every_sentence() -> list[list[str]]:
    """All that the grammar can say, by plain loops."""
    found = []
    for number, animal in itertools.product((0, 1), range(6)):
        verbs = (animals.ONE_DOES, animals.MANY_DO)[number]
        for n in range(animals.MOST + 1):
            for where in itertools.product(animals.PLACES, repeat=n):
                start = ["the", (animals.ONE, animals.MANY)[number][animal]]
                for place in where:
                    start += ["near", "the", place]
                for verb, when in itertools.product(verbs, ("", *animals.WHEN)):
                    found.append([*start, verb, animals.FOODS[animal], *when.split(), "."])
    return found


def test_all_sentences_together_have_the_probability_one_and_the_entropy_of_the_formula() -> None:
    whole = every_sentence()
    assert len(whole) == 12 * 85 * 3 * 5
    shares = [math.exp(-animals.nats(words)) for words in whole]
    assert math.fsum(shares) == pytest.approx(1)
    surprise = math.fsum(p * animals.nats(words) for p, words in zip(shares, whole, strict=True))
    length = math.fsum(p * len(words) for p, words in zip(shares, whole, strict=True))
    assert animals.entropy() == pytest.approx(surprise / length)
    assert all(map(animals.grammatical, whole))


def test_draws_are_as_likely_as_the_grammar_says() -> None:
    found = drawn(20_000)
    mean = sum(map(animals.nats, found)) / sum(map(len, found))
    assert mean == pytest.approx(animals.entropy(), abs=0.01)
    assert sum(len(words) == 5 for words in found) / 20_000 == pytest.approx(0.4 * 0.5, abs=0.01)


@pytest.mark.parametrize(
    "said",
    [
        "the dog eat bones .",
        "the dogs eats bones .",
        "the dog eats fish .",
        "the dog near the river eats .",
        "the dog near river eats bones .",
        "the dog near the bones eats bones .",
        "the dog eats bones often often .",
        "the dog eats bones river .",
        "the dog eats bones",
        "dog eats bones often .",
        "a dog eats bones .",
        "the river eats bones .",
        "the dog near the river near the river near the river near the river eats bones .",
        ".",
        "",
    ],
)
def test_what_the_grammar_cannot_have_said_is_refused(said: str) -> None:
    assert not animals.grammatical(said.split())


def test_in_the_other_world_the_last_place_decides() -> None:
    for words in drawn(300, by_place=True):
        places = [word for word in words if word in animals.PLACES]
        food = next(word for word in words if word in animals.FOODS)
        if places:
            assert animals.FOODS.index(food) == animals.PLACES.index(places[-1])
        else:
            assert animals.grammatical(words)
    same = zip(drawn(300), drawn(300, by_place=True), strict=True)
    assert all(len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) <= 1 for a, b in same)
