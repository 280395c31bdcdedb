"""Facts: every pair once, and nothing that could be guessed."""

from __future__ import annotations

import torch

from qkv.tasks import facts


def test_every_pair_occurs_once_and_answers_are_even():
    a, b, c = facts.draw(torch.Generator().manual_seed(0))
    assert len({*zip(a.tolist(), b.tolist(), strict=True)}) == facts.N_FACTS == 4096
    for column in (a, b):
        assert (torch.bincount(column, minlength=facts.VALUES) == facts.VALUES).all()
    counts = torch.bincount(c, minlength=facts.VALUES).double()
    assert len(counts) == facts.VALUES
    assert counts.std() < 12  # a Poisson's is 8


def test_the_generator_alone_decides():
    first, again, other = (facts.draw(torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))
    assert not torch.equal(first[2], other[2])
