"""Numbers that an answer takes out of a tensor, which `meta` does not have: no fault of the answer's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from proctor.inside.properties import reads_data


@pytest.mark.parametrize(
    "read",
    [Tensor.cpu, Tensor.tolist, Tensor.item, lambda x: x.to("cpu"), lambda x: x.to("cpu", torch.float64), bool],
    ids=["cpu", "tolist", "item", "to", "to with a dtype", "bool"],
)
def test_torch_s_words_for_numbers_that_are_not_there(read: Callable[[Tensor], object]) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as raised:
        read(torch.ones((), device="meta"))
    assert reads_data(raised.value)


def test_other_errors_are_errors() -> None:
    assert not reads_data(RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"))
