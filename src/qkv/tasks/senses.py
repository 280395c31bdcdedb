"""Sentences of eight words in which *bank* has two senses, and some words are used alike.

    she rowed the boat at the bank today
    the crowned queen ruled her throne often then

Whoever is called king or queen stands among the same words but for *his* and *her*; so do five more pairs. A bank with
money and a bank of a river stand in the same two forms of sentence. So it is known which words should be near each
other, which analogies are true, and which bank is meant.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

Slots = tuple[tuple[str, ...], ...]  # of a form of sentence: what may stand at each of its eight places

WHEN = ("today", "yesterday", "then")
PAIRS = {  # he, she -> what is said of both: how they are, what they do, with what
    ("king", "queen"): (("crowned", "mighty"), ("ruled", "guarded"), ("throne", "palace")),
    ("man", "woman"): (("busy", "grown"), ("drove", "parked"), ("car", "van")),
    ("boy", "girl"): (("little", "playful"), ("kicked", "lost"), ("ball", "toy")),
    ("father", "mother"): (("caring", "worried"), ("fed", "dressed"), ("baby", "twins")),
    ("actor", "actress"): (("famous", "vain"), ("rehearsed", "played"), ("role", "scene")),
    ("brother", "sister"): (("elder", "younger"), ("teased", "copied"), ("cousin", "friend")),
}
FRUIT = ("apple", "pear", "plum")
MONEY, RIVER = ("money", "loan", "cash", "credit"), ("boat", "raft", "fish", "water")
DONE_WITH_MONEY, DONE_AT_THE_RIVER = ("kept", "paid", "borrowed", "saved"), ("rowed", "moored", "washed", "watched")


def with_bank_at_the_end(verbs: Sequence[str], nouns: Sequence[str]) -> Slots:
    return (("he", "she"), tuple(verbs), ("the",), tuple(nouns), ("at",), ("the",), ("bank",), WHEN)


def with_bank_in_front(verbs: Sequence[str], nouns: Sequence[str]) -> Slots:
    return (("the",), ("bank",), tuple(verbs), ("the",), tuple(nouns), ("and",), tuple(nouns), WHEN)


def of_a_person(person: str, own: str, how: Sequence[str], does: Sequence[str], what: Sequence[str]) -> Slots:
    return (("the",), tuple(how), (person,), tuple(does), (own,), tuple(what), ("again", "once", "often"), WHEN)


SENSES = [with_bank_at_the_end(DONE_WITH_MONEY, MONEY), with_bank_at_the_end(DONE_AT_THE_RIVER, RIVER)]
# Forms of sentence, and how often each is said: of money twice as often as of the river.
FORMS: list[tuple[Slots, float]] = [
    *((of_a_person(he, "his", *about), 1) for (he, _), about in PAIRS.items()),
    *((of_a_person(she, "her", *about), 1) for (_, she), about in PAIRS.items()),
    ((("the",), ("ripe", "sweet"), FRUIT, ("fell", "grew"), ("from",), ("the",), ("tree", "branch"), WHEN), 2),
    (SENSES[0], 4),
    (with_bank_in_front(("lent", "counted"), MONEY), 4),
    (SENSES[1], 2),
    (with_bank_in_front(("hid", "sheltered"), RIVER), 2),
]
WORDS = tuple(dict.fromkeys(word for slots, _ in FORMS for slot in slots for word in slot))  # an id is a place here
LENGTH, BANK_AT = 8, 6  # of a sentence; where *bank* stands in those of `banks`
GROUPS = [*PAIRS, FRUIT, MONEY, RIVER]  # words that are used alike


def ids_of(words: Sequence[str]) -> list[int]:
    """Words as ids."""
    return [WORDS.index(word) for word in words]


def sentences(n: int, generator: torch.Generator) -> Tensor:
    """Draw n sentences of all forms, (n, 8)."""
    often = torch.tensor([weight for _, weight in FORMS], dtype=torch.float32)
    which = torch.multinomial(often, n, replacement=True, generator=generator)
    return filled([slots for slots, _ in FORMS], which, generator)


def banks(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw n sentences that end at a bank, (n, 8), and its sense: 0 is money, 1 the river, half of each."""
    which = torch.arange(n) % 2
    return filled(SENSES, which, generator), which


def filled(forms: Sequence[Slots], which: Tensor, generator: torch.Generator) -> Tensor:
    """Choose a word for each place of each sentence, whose form is known."""
    most = max(len(slot) for slots in forms for slot in slots)
    table = torch.tensor([[(ids_of(slot) * most)[:most] for slot in slots] for slots in forms])  # (form, place, word)
    sizes = torch.tensor([[len(slot) for slot in slots] for slots in forms])
    chosen = (torch.rand(len(which), LENGTH, generator=generator) * sizes[which]).long()
    return table[which].gather(-1, chosen[..., None]).squeeze(-1)


def analogies() -> list[tuple[int, int, int, int]]:
    """All true ones: a is to b as c is to d, in ids; 60 of them."""
    pairs = [tuple(ids_of(pair)) for pair in PAIRS]
    both_ways = [(pair[::way], other[::way]) for pair in pairs for other in pairs for way in (1, -1) if pair != other]
    return [(a, b, c, d) for (a, b), (c, d) in both_ways]


def neighbours_counted(ids: Tensor, window: int) -> Tensor:
    """How often each word stands near each other one in sentences (n, 8): counts (word, word)."""
    counts = torch.zeros(len(WORDS), len(WORDS))
    for distance in range(1, window + 1):
        left, right = ids[:, :-distance].flatten(), ids[:, distance:].flatten()
        counts.index_put_((left, right), torch.ones(len(left)), accumulate=True)
    return counts + counts.T
