"""Errands: the words, the draws, what each verb asks for, and two judges, against loops over words."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from qkv.tasks import errands


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ids(words: str) -> list[int]:
    known = [errands.WORDS.index(word) for word in words.split()]
    return known + [errands.END] * (errands.LENGTH - len(known))


def table(*texts: str) -> torch.Tensor:
    return torch.tensor([ids(text) for text in texts])


def obeyed(verb: str, digits: list[int]) -> list[int]:
    return {"up": sorted(digits), "down": sorted(digits)[::-1], "copy": digits, "back": digits[::-1]}[verb]


def judged(row: list[int]) -> tuple[bool, bool]:
    """Right, and in order, as a loop over the words of one answer would have it."""
    verb, digits, said = errands.WORDS[row[0]], row[1:6], row[7:]
    if errands.END not in said:
        return False, False
    said = said[: said.index(errands.END)]
    rest = list(itertools.dropwhile(lambda word: word == errands.UM, said))
    ordered = len(rest) == 5 and all(word < 10 for word in rest) and rest == sorted(rest, reverse=verb == "down")
    return rest == obeyed(verb, digits), ordered


def test_the_words_have_their_places() -> None:
    assert " ".join(errands.WORDS) == "0 1 2 3 4 5 6 7 8 9 <end> = um up down copy back"
    assert [errands.WORDS[i] for i in (errands.END, errands.EQUALS, errands.UM, errands.UP, errands.BACK)] == [
        *("<end>", "=", "um", "up", "back")
    ]
    assert (errands.ASKED, errands.LENGTH) == (7, 17)


@pytest.mark.parametrize("verbs", [("up", "down"), ("copy",), errands.VERBS])
def test_the_draws_and_their_order(verbs: tuple[str, ...]) -> None:
    """What the chapter trained was trained on these."""
    generator, replay = seeded(4), seeded(4)
    found = errands.errands(50, generator, verbs)
    which = torch.randint(len(verbs), (50,), generator=replay).tolist()
    digits = torch.randint(10, (50, 5), generator=replay).tolist()
    assert found.tolist() == [
        [errands.WORDS.index(verbs[a]), *b, errands.EQUALS] for a, b in zip(which, digits, strict=True)
    ]
    assert torch.equal(generator.get_state(), replay.get_state())


@pytest.mark.parametrize("verb", errands.VERBS)
def test_what_is_wanted(verb: str) -> None:
    asked = errands.errands(40, seeded(1), (verb,))
    assert errands.wanted(asked).tolist() == [obeyed(verb, row[1:6]) for row in asked.tolist()]


def test_an_answer_is_right_and_hesitates_up_to_three_times() -> None:
    asked = errands.errands(300, seeded(2), errands.VERBS)
    found = errands.answered(asked, seeded(3))
    hesitates = torch.randint(4, (300, 1), generator=seeded(3))[:, 0]
    assert torch.equal(found[:, :7], asked)
    assert torch.equal(errands.ums(found), hesitates)
    assert set(hesitates.tolist()) == {0, 1, 2, 3}
    assert errands.right(found).all()
    assert all(judged(row)[0] for row in found.tolist())
    assert errands.answer(found).sum(1).tolist() == (6 + hesitates).tolist()


def test_in_the_base_text_the_verb_says_nothing() -> None:
    asked = errands.errands(4000, seeded(5), errands.VERBS)
    found = errands.answered(asked, seeded(6), follow=False)
    verbs = torch.randint(errands.UP, errands.BACK + 1, (4000,), generator=seeded(6))
    other = torch.cat([verbs[:, None], found[:, 1:]], dim=1)
    assert errands.right(other).all()
    assert 0.22 < errands.right(found).double().mean() < 0.28  # a quarter by chance


@pytest.mark.parametrize(
    ("text", "right", "in_order", "words"),
    [
        ("up 7 2 9 2 1 = 1 2 2 7 9 <end>", True, True, 6),
        ("up 7 2 9 2 1 = um um um um 1 2 2 7 9 <end>", True, True, 10),
        ("up 7 2 9 2 1 = um um um um um 1 2 2 7 9", False, False, 10),
        ("up 7 2 9 2 1 = 9 7 2 2 1 <end>", False, False, 6),
        ("down 7 2 9 2 1 = 9 7 2 2 1 <end>", True, True, 6),
        ("down 7 2 9 2 1 = 8 8 8 8 8 <end>", False, True, 6),
        ("up 7 2 9 2 1 = 0 1 2 3 4 <end>", False, True, 6),
        ("up 7 2 9 2 1 = 1 2 2 7 <end>", False, False, 5),
        ("up 7 2 9 2 1 = 1 2 2 7 9 9 <end>", False, False, 7),
        ("up 7 2 9 2 1 = 1 2 um 2 7 9 <end>", False, False, 7),
        ("up 7 2 9 2 1 = 1 2 2 7 9 um <end>", False, False, 7),
        ("up 7 2 9 2 1 = 1 2 2 7 = <end>", False, False, 6),
        ("copy 7 2 9 2 1 = 7 2 9 2 1 <end>", True, False, 6),
        ("back 7 2 9 2 1 = 1 2 9 2 7 <end>", True, False, 6),
        ("up 7 2 9 2 1 = um um um um um um um um um um", False, False, 10),
        ("up 7 2 9 2 1 = <end>", False, False, 1),
    ],
)
def test_two_judges(text: str, right: bool, in_order: bool, words: int) -> None:
    assert errands.right(table(text)).tolist() == [right]
    if text.startswith(("up", "down")):
        assert errands.in_order(table(text)).tolist() == [in_order]
    assert errands.answer(table(text))[0].tolist() == [False] * 7 + [True] * words + [False] * (10 - words)


def test_the_judges_agree_with_a_loop_over_the_words() -> None:
    draw = random.Random(0)
    rows = []
    for row in errands.answered(errands.errands(400, seeded(8)), seeded(9)).tolist():
        for _ in range(draw.randrange(3)):
            row[draw.randrange(7, 17)] = draw.randrange(17)
        rows.append(row)
    found = torch.tensor(rows)
    both = list(zip(errands.right(found).tolist(), errands.in_order(found).tolist(), strict=True))
    assert both == [judged(row) for row in rows]
    assert {*both} == {(True, True), (False, True), (False, False)}


def test_a_text_in_words() -> None:
    told = "up 7 2 9 2 1 = um 1 2 2 7 9 <end>"
    assert errands.text(table(told)[0]) == told
    assert errands.text(ids(told)[:9]) == "up 7 2 9 2 1 = um 1"
