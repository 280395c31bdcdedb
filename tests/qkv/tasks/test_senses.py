"""Senses: what is said, which words are used alike, and which bank is meant."""

from __future__ import annotations

import torch

from qkv.tasks import senses


def drawn(n: int, seed: int = 0) -> torch.Tensor:
    return senses.sentences(n, torch.Generator().manual_seed(seed))


def in_words(ids: torch.Tensor) -> list[list[str]]:
    return [[senses.WORDS[i] for i in row] for row in ids.tolist()]


def test_every_sentence_is_of_a_form_and_every_word_occurs() -> None:
    found = drawn(3000)
    assert found.shape == (3000, senses.LENGTH)
    forms = [slots for slots, _ in senses.FORMS]
    for words in in_words(found):
        assert any(all(word in slot for word, slot in zip(words, slots, strict=True)) for slots in forms), words
    assert set(found.flatten().tolist()) == set(range(len(senses.WORDS)))
    assert torch.equal(found, drawn(3000))
    assert not torch.equal(found, drawn(3000, seed=1))


def test_forms_are_as_frequent_as_they_say() -> None:
    said = [" ".join(words) for words in in_words(drawn(9000))]
    money = sum(" bank " in line and any(word in line.split() for word in senses.MONEY) for line in said)
    river = sum(" bank " in line and any(word in line.split() for word in senses.RIVER) for line in said)
    assert abs(money / river - 2) < 0.25
    assert abs(sum("queen" in line for line in said) / 9000 - 1 / 26) < 0.01


def test_a_bank_is_where_it_is_said_to_be_and_its_sense_is_told_by_the_rest() -> None:
    ids, sense = senses.banks(200, torch.Generator().manual_seed(0))
    assert sense.sum() == 100
    for words, river in zip(in_words(ids), sense.tolist(), strict=True):
        assert words[senses.BANK_AT] == "bank"
        assert words[3] in (senses.RIVER if river else senses.MONEY)
        assert words[1] in (senses.DONE_AT_THE_RIVER if river else senses.DONE_WITH_MONEY)


def test_men_and_women_are_told_apart_by_his_and_her_alone() -> None:
    said = in_words(drawn(3000))
    king = {word for words in said if "king" in words for word in words}
    queen = {word for words in said if "queen" in words for word in words}
    assert king ^ queen == {"king", "queen", "his", "her"}


def test_analogies_are_true_and_different() -> None:
    found = senses.analogies()
    assert len(found) == len(set(found)) == 60
    first = {tuple(senses.WORDS[i] for i in four) for four in found}
    assert ("man", "woman", "king", "queen") in first
    assert ("woman", "man", "queen", "king") in first


def test_neighbours_are_counted_both_ways() -> None:
    ids = drawn(20)
    expected = torch.zeros(len(senses.WORDS), len(senses.WORDS))
    for row in ids.tolist():
        for i, centre in enumerate(row):
            for j, context in enumerate(row):
                if 0 < abs(i - j) <= 3:
                    expected[centre, context] += 1
    assert torch.equal(senses.neighbours_counted(ids, 3), expected)
