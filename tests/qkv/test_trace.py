"""What the trace says of our solution, that it has a value nowhere, is said of all its values."""

from __future__ import annotations

import numpy as np
import pytest

from proctor import Examiner
from proctor.locate import trace
from proctor.locate.trace import RightValues, array_of, right_values
from qkv import exercises

PROBE = "machines_of_size_one"  # five machines, one after the other


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(exercises.find("Transformer"), "trace")


def test_the_last_of_many_results_is_known(examiner: Examiner) -> None:
    right = right_values(examiner, PROBE)
    assert right is not None
    results = examiner.expected[PROBE].observation.values
    assert results
    assert [name for name, value in results.items() if not right.has(array_of(value))] == []


def test_nothing_is_said_where_values_were_left_out(examiner: Examiner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_OF_OURS", 600)
    assert right_values(examiner, PROBE) is None


def test_values_are_told_apart_beyond_their_first_entries() -> None:
    right = RightValues()
    a = np.arange(24.0).reshape(4, 6)
    for value in (a, a * 2, np.full((4, 6), np.inf)):
        right.add(value)
    off = a.copy()
    off[3, 5] += 0.01
    assert right.has(a)
    assert right.has(a[None])  # sizes of 1 do not count
    assert right.has(np.full((4, 6), np.inf))
    assert not right.has(off)
    assert not right.has(a * 3)
    assert right.has_slice(a[2])
    assert right.has_slice(a[:, 2] * 2)
    assert not right.has_slice(off[3])
