"""Ledgers: the words, the draws that trained weights rely on, the floor of the loss, and the judge."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from qkv.tasks import ledgers


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ids(text: str) -> list[int]:
    return [ledgers.WORDS.index(word) for word in text.split()]


ENTRIES = "Ada coins 7 ; Gus hats 2 ; Eva eggs 7 ; "
REPEATS = "Gus hats 2 ; Ada coins 7 ; Eva eggs 7 ; Gus hats 2 ; Gus hats 2 ; Ada coins 7 ; Ada coins 7 ; Eva eggs 7 ; "


def test_the_words_have_their_places() -> None:
    assert " ".join(ledgers.WORDS) == (
        "<end> ; 1 2 3 4 5 6 7 8 9 Ada Ben Cleo Dan Eva Finn Gus Hana apples books coins drums eggs flags gems hats"
    )


def test_what_is_drawn_stays_what_it_is() -> None:
    """Weights that students have trained were trained on these."""
    assert ledgers.draw(2, seeded(1))[1].tolist() == ids(
        "<end> Finn eggs 7 ; Ben apples 9 ; Hana books 7 ; Finn eggs 7 ; Finn eggs 7 ; Hana books 7 ; "
        "Ben apples 9 ; Finn eggs 7 ; Finn eggs 7 ; Ben apples 9 ; Finn eggs 7 ; <end>"
    )


@pytest.mark.parametrize("n", [1, 5, 200])
def test_the_draws_and_their_order(n: int) -> None:
    generator, replay = seeded(n), seeded(n)
    found = ledgers.draw(n, generator)
    shuffled = [torch.rand(n, 8, generator=replay).tolist() for _ in range(2)]
    numbers = torch.randint(9, (n, 3), generator=replay).tolist()
    again = torch.randint(3, (n, 8), generator=replay).tolist()
    assert torch.equal(generator.get_state(), replay.get_state())
    assert found.shape == (n, 46)
    assert found.dtype == torch.int64
    for i, ledger in enumerate(found.tolist()):
        names, things = (sorted(range(8), key=numbers_of[i].__getitem__)[:3] for numbers_of in shuffled)
        entries = [
            f"{ledgers.NAMES[a]} {ledgers.THINGS[b]} {c + 1} ;"
            for a, b, c in zip(names, things, numbers[i], strict=True)
        ]
        assert ledger == ids(" ".join(["<end>", *entries, *(entries[r] for r in again[i]), "<end>"]))


def test_no_ledger_at_all() -> None:
    assert ledgers.draw(0, seeded(0)).shape == (0, 46)


def test_every_ledger_is_true_and_its_entries_differ() -> None:
    drawn = ledgers.draw(500, seeded(2))
    for ledger in drawn.tolist():
        assert ledgers.true(ledger[1:])
        assert len(set(ledger[1:13:4])) == len(set(ledger[2:13:4])) == 3
    assert drawn.unique().tolist() == list(range(27))


def test_the_floor_is_what_the_ledgers_themselves_cost() -> None:
    """Each word's probability is counted in ledgers, given what a reader of the ledger knows by then."""
    drawn = ledgers.draw(20_000, seeded(3))
    total = 0.0
    for place in range(1, 46):
        line, word = divmod(place - 1, 4)
        if line >= 3 and word == 0 and place < 45:  # which entry is repeated
            which = (drawn[:, place, None] == drawn[:, [1, 5, 9]]).int().argmax(dim=1)
            counts = Counter(which.tolist())
            total += -sum(c / 20_000 * math.log(c / 20_000) for c in counts.values())
        elif line < 3 and word < 3:
            # the word's rank among those that are left, which is even if each of them is as likely
            left = drawn[:, place] - (
                (drawn[:, 1 + word : place : 4] < drawn[:, place, None]).sum(dim=1) if word < 2 else 0
            )
            counts = Counter(left.tolist())
            assert len(counts) == (9 if word == 2 else 8 - line)
            total += -sum(c / 20_000 * math.log(c / 20_000) for c in counts.values())
    assert ledgers.floor() == pytest.approx(total / 45, abs=1e-3)
    assert ledgers.floor() == pytest.approx(0.6003, abs=5e-5)


def test_a_ledger_is_true() -> None:
    assert ledgers.true(ids(ENTRIES + REPEATS + "<end>"))


def test_a_name_that_is_entered_twice_is_no_lie() -> None:
    twice = ENTRIES.replace("Eva eggs 7", "Gus hats 5") + REPEATS.replace("Eva eggs 7", "Gus hats 5")
    assert ledgers.true(ids(twice + "<end>"))


@pytest.mark.parametrize(
    "text",
    {
        "another number": ENTRIES + REPEATS.replace("Eva eggs 7", "Eva eggs 8", 1) + "<end>",
        "another's thing": ENTRIES + REPEATS.replace("Eva eggs 7", "Eva coins 7", 1) + "<end>",
        "nobody who was entered": ENTRIES + REPEATS.replace("Ada coins 7", "Ben coins 7", 1) + "<end>",
        "another order inside a line": ENTRIES + REPEATS.replace("Eva eggs 7", "eggs Eva 7", 1) + "<end>",
        "no stop in a repetition": ENTRIES + REPEATS.replace("hats 2 ;", "hats 2 2", 1) + "<end>",
        "an entry without a name": ENTRIES.replace("Ada", "3") + REPEATS.replace("Ada", "3") + "<end>",
        "an entry without a thing": ENTRIES.replace("coins", "Ben") + REPEATS.replace("coins", "Ben") + "<end>",
        "an entry without a number": ENTRIES.replace("2", ";") + REPEATS.replace("2", ";") + "<end>",
        "an entry without a stop": (ENTRIES + REPEATS).replace("coins 7 ;", "coins 7 7") + "<end>",
        "the end is missing": ENTRIES + REPEATS + ";",
        "a line too few": ENTRIES + REPEATS[: -len("Eva eggs 7 ; ")] + "<end>",
        "a line too many": ENTRIES + REPEATS + "Eva eggs 7 ; <end>",
        "the first end as well": "<end> " + ENTRIES + REPEATS + "<end>",
        "nothing": "",
    }.items(),
    ids=lambda item: item[0],
)
def test_what_is_no_true_ledger(text: tuple[str, str]) -> None:
    assert not ledgers.true(ids(text[1]))


@pytest.mark.parametrize("unknown", [-1, 27])
def test_an_id_that_is_no_word_is_not_true(unknown: int) -> None:
    hats = ledgers.WORDS.index("hats")
    ledger = ids(ENTRIES + REPEATS + "<end>")
    assert not ledgers.true([unknown if word == hats else word for word in ledger])
