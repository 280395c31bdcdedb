"""Quick decisions are the same as careful ones."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor import Examiner
from proctor.compare import same
from proctor.observe import Observation, Raised, plain
from proctor.screening import Prepared, Screening

numbers = st.floats(width=32) | st.sampled_from([0.0, 1.0, math.nan, math.inf, -math.inf, 1e-30])
tensors = st.builds(
    lambda values, dtype: torch.tensor(values, dtype=torch.float64).to(dtype),
    st.lists(numbers, max_size=4) | numbers,
    st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool]),
)
observations = st.builds(
    lambda values: Observation({name: plain(value) for name, value in values.items()}),
    st.dictionaries(st.sampled_from("ab"), tensors, max_size=2),
)
nudges = st.sampled_from([0.0, 1e-12, 1e-6, 3e-5, 1e-3, 0.5])


@settings(deadline=None, max_examples=400)
@given(observations, observations)
def test_what_is_decided_quickly_is_decided_right(seen: Observation, expected: Observation) -> None:
    assert Prepared(expected).agrees(seen) in (None, same(seen, expected))


@settings(deadline=None, max_examples=400)
@given(observations, nudges)
def test_also_for_numbers_that_are_close(expected: Observation, nudge: float) -> None:
    assert expected.values is not None
    near = {n: t * (1 + nudge) if t.is_floating_point() else t for n, t in expected.values.items()}
    seen = Observation(near)
    assert Prepared(expected).agrees(seen) in (None, same(seen, expected))


def test_an_exception_takes_a_closer_look() -> None:
    values, raised = Observation({"y": torch.ones(2)}), Observation(None, Raised("ValueError", "no"))
    assert Prepared(values).agrees(raised) is None
    assert Prepared(raised).agrees(values) is None


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x + x,
        lambda x: 3 * x,
        lambda x: x / 2,
        lambda x: x,
        lambda x: (2 * x).double(),
        lambda x: 1 / 0,
        lambda x: torch.softmax(x, -1),
        lambda x: (_ for _ in ()).throw(NotImplementedError),
    ],
)
def test_verdicts_are_those_of_the_careful_examiner(school: Any, answer: Any) -> None:
    for exercise in (school.double, school.share):
        quick, careful = Screening(exercise, "salt"), Examiner(exercise, "salt")
        assert quick.examine(answer) == careful.examine(answer)
