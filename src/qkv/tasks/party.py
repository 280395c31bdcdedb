"""A party: every guest knows two names, a friend's and a rival's, and wants to know what each of them drinks.

Two lookups by content, no order needed. One weighted average cannot keep the two answers apart.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Rooms(NamedTuple):
    """A batch of rooms; everything is int64. A guest is known by a seat, other guests know the name."""

    names: Tensor  # (batch, guest) the name of the guest on each seat
    drinks: Tensor  # (batch, guest) what that guest holds
    knows: Tensor  # (batch, guest, 2) the names of friend and rival
    seats: Tensor  # (batch, guest, 2) where friend and rival sit
    answers: Tensor  # (batch, guest, 2) what friend and rival drink


def party(batch: int, guests: int, drinks: int, generator: torch.Generator) -> Rooms:
    """Fill rooms at random: names in any order of seats, any drink, two different others as friend and rival.

    Args:
        batch: number of rooms.
        guests: guests in each room, at least 3; as many names.
        drinks: number of different drinks.
        generator: the only source of chance.
    """
    names = torch.rand(batch, guests, generator=generator).argsort(dim=-1)
    held = torch.randint(drinks, (batch, guests), generator=generator)
    liking = torch.rand(batch, guests, guests, generator=generator)  # of each guest, for each seat
    liking.diagonal(dim1=1, dim2=2).fill_(-1.0)  # nobody is their own friend or rival
    seats = liking.topk(2, dim=-1).indices
    return Rooms(names, held, at(names, seats), seats, at(held, seats))


def at(values: Tensor, seats: Tensor) -> Tensor:
    """What stands on the given seats of each room."""
    return values.gather(1, seats.flatten(1)).view_as(seats)
