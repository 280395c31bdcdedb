"""Values are noted whatever they are, and others stand in their place without a shape of their own."""

from __future__ import annotations

import pytest
import torch

from proctor.inside.recorder import Recorder, in_place_of


@pytest.mark.parametrize(
    ("value", "other", "shape"),
    [
        (torch.zeros(0), torch.zeros(0, 2), (0, 2)),  # as many entries, and no broadcast between them
        (torch.zeros(3, 2), torch.ones(2, 3), (2, 3)),
        (torch.zeros(3), torch.ones(3, 1), (3,)),
        (torch.zeros(1, 4), torch.ones(4), (1, 4)),
    ],
)
def test_another_value_takes_the_place(value: torch.Tensor, other: torch.Tensor, shape: tuple[int, ...]) -> None:
    put = in_place_of(value, other)
    assert put.shape == shape
    assert put.sum() == other.sum()


def test_a_number_that_no_tensor_holds_is_passed_over() -> None:
    recorder = Recorder()
    assert recorder.see(0, 10**40) == 10**40
    assert recorder.see(1, 3) == 3
    assert list(recorder.observation().values or {}) == ["order", "counts", "1.0"]
