"""The cloakroom: the answer is at the one hook that has the ticket."""

from __future__ import annotations

import torch

from qkv.tasks.retrieval import COATS, HOOKS, TICKETS, retrieval


def test_the_answer_hangs_where_the_ticket_is() -> None:
    query, keys, values, answer = retrieval(200, torch.Generator().manual_seed(0))
    for asked, tickets, coats, wanted in zip(
        query.tolist(), keys.tolist(), values.tolist(), answer.tolist(), strict=True
    ):
        assert len(set(tickets)) == HOOKS
        assert coats[tickets.index(asked)] == wanted


def test_everything_occurs() -> None:
    query, keys, values, answer = retrieval(2000, torch.Generator().manual_seed(1))
    assert set(query.tolist()) == set(keys.flatten().tolist()) == set(range(TICKETS))
    assert set(values.flatten().tolist()) == set(answer.tolist()) == set(range(COATS))


def test_the_generator_decides() -> None:
    first, again, other = (retrieval(5, torch.Generator().manual_seed(s)) for s in (2, 2, 3))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.keys, other.keys)
