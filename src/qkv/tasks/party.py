"""A party: every guest knows two names, a friend's and a rival's, and wants to know what each of them drinks.

Two lookups by content, no order needed. One weighted average cannot keep the two answers apart. A guest may also know
more names than two, each in a part of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Rooms(NamedTuple):
    """A batch of rooms; everything is int64. A guest is known by a seat, other guests know the name."""

    names: Tensor  # (batch, guest) the name of the guest on each seat
    drinks: Tensor  # (batch, guest) what that guest holds
    knows: Tensor  # (batch, guest, relation) the names of friend and rival, or of more
    seats: Tensor  # (batch, guest, relation) where they sit
    answers: Tensor  # (batch, guest, relation) what they drink


def party(batch: int, guests: int, drinks: int, generator: torch.Generator, relations: int = 2) -> Rooms:
    """Fill rooms at random: names in any order of seats, any drink, different others as friend, rival, and so on.

    Args:
        batch: number of rooms.
        guests: guests in each room, more than relations; as many names.
        drinks: number of different drinks.
        generator: the only source of chance.
        relations: how many others each guest knows.
    """
    names = torch.rand(batch, guests, generator=generator).argsort(dim=-1)
    held = torch.randint(drinks, (batch, guests), generator=generator)
    liking = torch.rand(batch, guests, guests, generator=generator)  # of each guest, for each seat
    liking.diagonal(dim1=1, dim2=2).fill_(-1.0)  # nobody is their own friend or rival
    seats = liking.topk(relations, dim=-1).indices
    return Rooms(names, held, at(names, seats), seats, at(held, seats))


def at(values: Tensor, seats: Tensor) -> Tensor:
    """What stands on the given seats of each room."""
    return values.gather(1, seats.flatten(1)).view_as(seats)
