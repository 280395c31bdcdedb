"""Many models at once compute what torch's own loop computes for each."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from qkv.model.side_by_side import LOOPS

MODELS, BATCH, TIME, D_IN, D = 3, 2, 7, 4, 5


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize(("batch", "time"), [(BATCH, TIME), (1, 1)])
def test_states_and_gradients_are_those_of_torch(kind: type[nn.Module], batch: int, time: int) -> None:
    torch.manual_seed(0)
    layers = [kind(D_IN, D, batch_first=True).double() for _ in range(MODELS)]
    names = [n for n, _ in layers[0].named_parameters()]
    assert names == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]  # the order of the arguments
    x = torch.randn(MODELS, batch, time, D_IN, dtype=torch.float64, requires_grad=True)
    weigh = torch.randn(MODELS, batch, time, D, dtype=torch.float64)
    stacked = [torch.stack([layer.get_parameter(n) for layer in layers]) for n in names]

    theirs = torch.stack([layer(part)[0] for layer, part in zip(layers, x, strict=True)])
    found = LOOPS[kind](x, *stacked)
    torch.testing.assert_close(found, theirs)

    asked = [x, *(p for layer in layers for p in layer.parameters())]
    expected = torch.autograd.grad((theirs * weigh).sum(), asked)
    for ours_, theirs_ in zip(torch.autograd.grad((found * weigh).sum(), asked), expected, strict=True):
        torch.testing.assert_close(ours_, theirs_)
