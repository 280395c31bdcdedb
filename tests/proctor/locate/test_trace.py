"""What the recorder sent is from the sandbox: a trace that it cannot have made is thrown away."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from proctor.inside.observe import Observation
from proctor.inside.recorder import MOST_VALUES
from proctor.locate.trace import InstrumentedCells, KnownValues, flow_of, same_variables

TEXT = "def double(x):\n    y = x + x\n    return y\n"


def traced(order: Any) -> Any:
    watched = InstrumentedCells()
    watched.add("cell", TEXT)
    values = {f"{number}.0": torch.ones(2) for number in watched.spots} | {"order": order}
    return flow_of(Observation(values=values), watched, KnownValues(), "double")


def test_a_trace_of_the_recorder_is_read() -> None:
    watched = InstrumentedCells()
    watched.add("cell", TEXT)
    assert traced(torch.tensor([[number, 0, -1, 1] for number in watched.spots])) is not None


@pytest.mark.parametrize(
    "order",
    [
        torch.zeros(MOST_VALUES + 1, 4, dtype=torch.int64),
        torch.zeros(3, 5, dtype=torch.int64),
        torch.zeros(3, dtype=torch.int64),
        torch.zeros(3, 4),
        torch.zeros(2, 2, 4, dtype=torch.int64),
    ],
)
def test_a_trace_that_it_cannot_have_made_is_thrown_away(order: torch.Tensor) -> None:
    assert traced(order) is None


def test_names_of_values_are_not_believed() -> None:
    watched = InstrumentedCells()
    watched.add("cell", TEXT)
    for key in ("².0", "order", "", "1.x", "99.0", "٣.0"):
        assert same_variables(Observation(values={key: torch.ones(2)}), watched, KnownValues()) == {}
