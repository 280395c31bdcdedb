"""Errands: a verb, five digits and "=", and then what was asked for. A model learns to follow them in chapter 18.

    up 7 2 9 2 1 = um um 1 2 2 7 9 <end>

The answer may hesitate with up to three "um", which mean nothing. In the base text the verb says nothing about what
follows: a model that has read it can do all four errands and follows none.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

VERBS = ("up", "down", "copy", "back")
WORDS = (*map(str, range(10)), "<end>", "=", "um", *VERBS)  # a word's id is its place here
END, EQUALS, UM, UP, DOWN, COPY, BACK = range(10, len(WORDS))

DIGITS = 5
UMS = 3  # an answer of the text has at most so many
ASKED = 1 + DIGITS + 1  # words of an errand: verb, digits, equals
LONGEST = 10  # words of an answer that are looked at
LENGTH = ASKED + LONGEST


def errands(n: int, generator: torch.Generator, verbs: Sequence[str] = ("up", "down")) -> Tensor:
    """Ask for n things: ids (n, ASKED), int64. Verb and digits are drawn evenly, and digits may repeat."""
    verb = torch.tensor([WORDS.index(one) for one in verbs])[torch.randint(len(verbs), (n,), generator=generator)]
    digits = torch.randint(10, (n, DIGITS), generator=generator)
    return torch.cat([verb[:, None], digits, torch.full((n, 1), EQUALS)], dim=1)


def wanted(ids: Tensor) -> Tensor:
    """The digits that an errand asks for: (n, ASKED or more) -> (n, DIGITS). An answer is not read."""
    return done(ids[:, 0], ids[:, 1 : 1 + DIGITS])


def done(verbs: Tensor, digits: Tensor) -> Tensor:
    """What comes of digits (n, DIGITS) under each verb (n,)."""
    ways = {UP: digits.sort(dim=1).values, DOWN: digits.sort(dim=1, descending=True).values, BACK: digits.flip(1)}
    result = digits
    for verb, way in ways.items():
        result = torch.where((verbs == verb)[:, None], way, result)
    return result


def answered(asked: Tensor, generator: torch.Generator, follow: bool = True) -> Tensor:
    """Errands (n, ASKED) with a right answer: ids (n, LENGTH), with <end> from where the answer ends.

    Args:
        asked: what is asked for.
        generator: draws how often each answer says "um", 0 to UMS times.
        follow: False for the base text: which of the four is done is drawn, whatever was asked for.
    """
    n = len(asked)
    verbs = asked[:, 0] if follow else torch.randint(UP, BACK + 1, (n,), generator=generator)
    digits = done(verbs, asked[:, 1 : 1 + DIGITS])
    ums = torch.randint(UMS + 1, (n, 1), generator=generator)
    place = torch.arange(LONGEST) - ums  # which digit stands at each word
    said = torch.where(place < DIGITS, digits.gather(1, place.clamp(0, DIGITS - 1)), END)
    return torch.cat([asked, torch.where(place < 0, UM, said)], dim=1)


def answer(ids: Tensor) -> Tensor:
    """True on the words of the answer, its <end> included: (n, LENGTH) -> bool (n, LENGTH)."""
    ended = (ids[:, ASKED:] == END).cumsum(dim=1) - (ids[:, ASKED:] == END).int()  # ends before this word
    asked = torch.zeros_like(ids[:, :ASKED], dtype=torch.bool)
    return torch.cat([asked, ended == 0], dim=1)


def ums(ids: Tensor) -> Tensor:
    """How often each answer says "um" before anything else: (n, LENGTH) -> (n,)."""
    return (ids[:, ASKED:] == UM).cumprod(dim=1).sum(dim=1)


def after_ums(ids: Tensor) -> Tensor:
    """The DIGITS + 1 words behind the "um"s (n, DIGITS + 1); -1 where the answer has no more words."""
    place = ums(ids)[:, None] + torch.arange(DIGITS + 1)
    words = ids[:, ASKED:].gather(1, place.clamp(max=LONGEST - 1))
    return torch.where(place < LONGEST, words, -1)


def right(ids: Tensor) -> Tensor:
    """The checker: do the digits asked for come behind the "um"s, then <end>? (n, LENGTH) -> bool (n,)."""
    said = after_ums(ids)
    return (said[:, :DIGITS] == wanted(ids)).all(dim=1) & (said[:, DIGITS] == END)


def in_order(ids: Tensor) -> Tensor:
    """A judge that looks at the order only: five digits that rise ("up") or fall, whosever they are, then <end>.

    Args:
        ids: errands with "up" or "down" and their answers (n, LENGTH).
    """
    said = after_ums(ids)
    digits = said[:, :DIGITS]
    steps = digits.diff(dim=1) * torch.where(ids[:, :1] == UP, 1, -1)
    are_digits = ((digits >= 0) & (digits < 10)).all(dim=1)
    return are_digits & (steps >= 0).all(dim=1) & (said[:, DIGITS] == END)


def text(ids: Sequence[int] | Tensor) -> str:
    """The words, up to and with the <end> of the answer."""
    words = [WORDS[int(i)] for i in ids]
    return " ".join(words[: words.index("<end>") + 1] if "<end>" in words else words)
