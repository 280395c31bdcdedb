"""Ledgers: who keeps what, and how many. Three entries are made, then eight lines each repeat one of them.

    <end> Ada coins 7 ; Gus hats 2 ; Eva eggs 7 ; Gus hats 2 ; Ada coins 7 ; … <end>

The first three lines cannot be guessed, and of a repetition no more than whose turn it is. The rest is memory of this
very ledger, so the best possible loss is known. Trained weights rely on the order of the words and on what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

NUMBERS = ("1", "2", "3", "4", "5", "6", "7", "8", "9")
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana")
THINGS = ("apples", "books", "coins", "drums", "eggs", "flags", "gems", "hats")
WORDS = ("<end>", ";", *NUMBERS, *NAMES, *THINGS)  # a word's id is its place here
END, STOP = WORDS.index("<end>"), WORDS.index(";")

ENTRIES, REPEATS = 3, 8
LINE = 4  # name, thing, number, stop
LENGTH = 1 + LINE * (ENTRIES + REPEATS) + 1


def draw(n: int, generator: torch.Generator) -> Tensor:
    """Write n ledgers: ids (n, LENGTH), int64.

    The names of a ledger's entries differ, and so do the things; every choice is uniform.
    """
    names = torch.rand(n, len(NAMES), generator=generator).argsort(dim=1)[:, :ENTRIES]
    things = torch.rand(n, len(THINGS), generator=generator).argsort(dim=1)[:, :ENTRIES]
    numbers = torch.randint(len(NUMBERS), (n, ENTRIES), generator=generator)
    repeated = torch.randint(ENTRIES, (n, REPEATS), generator=generator)
    columns = [
        names + WORDS.index(NAMES[0]),
        things + WORDS.index(THINGS[0]),
        numbers + WORDS.index(NUMBERS[0]),
        torch.full_like(names, STOP),
    ]
    entries = torch.stack(columns, dim=2)  # (n, entry, word)
    repeats = entries[torch.arange(n)[:, None], repeated]  # (n, repeat, word)
    lines = torch.cat([entries, repeats], dim=1).flatten(1)
    end = torch.full((n, 1), END)
    return torch.cat([end, lines, end], dim=1)


def floor() -> float:
    """The mean loss, in nats per predicted word, of a model that knows the language. None can have less."""
    choices = [len(NUMBERS)] * ENTRIES + [ENTRIES] * REPEATS
    for entered in range(ENTRIES):
        choices += [len(NAMES) - entered, len(THINGS) - entered]
    return sum(math.log(n) for n in choices) / (LENGTH - 1)  # the first <end> is given


def true(ids: Sequence[int]) -> bool:
    """Tell whether this is a ledger, from its first name up to and with its last `<end>`: every line repeats an entry.

    It is not asked whether the names of the entries differ: a model cannot lie before something is entered.
    """
    if len(ids) != LENGTH - 1 or ids[-1] != END:
        return False
    lines = [tuple(ids[start : start + LINE]) for start in range(0, LENGTH - 2, LINE)]
    entries, repeats = lines[:ENTRIES], lines[ENTRIES:]
    return all(map(is_line, entries)) and all(line in entries for line in repeats)


def is_line(ids: Sequence[int]) -> bool:
    """Whether four ids are a name, a thing, a number and the stop."""
    kinds = NAMES, THINGS, NUMBERS, (";",)
    return all(word in map(WORDS.index, kind) for word, kind in zip(ids, kinds, strict=True))
