"""The party: names are a permutation, nobody is their own friend, and the answers are what friend and rival hold."""

import itertools

import torch

from qkv.tasks.party import party

BATCH, GUESTS, DRINKS = 40, 5, 7
rooms = party(BATCH, GUESTS, DRINKS, torch.Generator().manual_seed(0))


def test_shapes_and_kinds():
    assert [tuple(t.shape) for t in rooms] == [(BATCH, GUESTS)] * 2 + [(BATCH, GUESTS, 2)] * 3
    assert {t.dtype for t in rooms} == {torch.int64}


def test_every_room_has_every_name_once():
    assert torch.equal(rooms.names.sort(dim=-1).values, torch.arange(GUESTS).expand(BATCH, GUESTS))


def test_all_drinks_occur():
    assert rooms.drinks.unique().tolist() == list(range(DRINKS))


def test_guest_friend_and_rival_are_three_people():
    for guest, (friend, rival) in ((g, s) for room in rooms.seats.tolist() for g, s in enumerate(room)):
        assert len({guest, friend, rival}) == 3


def test_names_and_answers_follow_from_the_seats():
    for b, g, i in itertools.product(range(BATCH), range(GUESTS), range(2)):
        seat = rooms.seats[b, g, i]
        assert rooms.knows[b, g, i] == rooms.names[b, seat]
        assert rooms.answers[b, g, i] == rooms.drinks[b, seat]


def test_the_generator_is_the_only_source_of_chance():
    again = party(BATCH, GUESTS, DRINKS, torch.Generator().manual_seed(0))
    other = party(BATCH, GUESTS, DRINKS, torch.Generator().manual_seed(1))
    assert all(torch.equal(a, b) for a, b in zip(rooms, again, strict=True))
    assert not torch.equal(rooms.seats, other.seats)


def test_a_guest_may_know_more_than_two():
    many = party(BATCH, GUESTS, DRINKS, torch.Generator().manual_seed(0), relations=4)
    for guest, others in ((g, s) for room in many.seats.tolist() for g, s in enumerate(room)):
        assert sorted([guest, *others]) == list(range(GUESTS))
    for kept, first in zip(many[2:], rooms[2:], strict=True):
        assert torch.equal(kept[..., :2], first)  # the friend and the rival are those of the smaller party
