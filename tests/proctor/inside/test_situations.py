"""Situations that probes share."""

from __future__ import annotations

import pytest
import torch

from proctor.inside.inputs import Salted, drawing
from proctor.inside.situations import if_it_runs, one_of_each, settled


def test_each_size_is_one_once() -> None:
    assert one_of_each(batch=3, width=5) == [("one batch", [1, 5]), ("one width", [3, 1])]


def test_what_raises_is_seen_as_such_whatever_it_raised() -> None:
    assert if_it_runs(lambda: {"output": 1}) == {"output": 1, "it raises an error": False}
    for error in (ValueError, RuntimeError, IndexError, TypeError, AssertionError):

        def fails(error: type[Exception] = error) -> dict[str, int]:
            raise error

        assert if_it_runs(fails) == {"it raises an error": True}


def test_what_is_not_written_yet_stays_so() -> None:
    def stub() -> dict[str, int]:
        raise NotImplementedError

    with pytest.raises(NotImplementedError):
        if_it_runs(stub)


def test_torchs_own_generator_starts_anew() -> None:
    with drawing(Salted("a")):
        drawn = [(torch.rand(2, generator=settled("g")), torch.rand(2)) for _ in range(2)]
    assert all(torch.equal(one, other) for one, other in zip(*drawn, strict=True))
