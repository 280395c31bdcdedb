"""Forbidden calls are found by what runs, whatever the spelling."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from proctor.forbid import FUSED_ATTENTION, LAYER_NORM, MULTIHEAD, SOFTMAX, recording

x = torch.randn(2, 3, 4)
rename = torch.softmax


def called(family, action) -> list[str]:
    found: list[str] = []
    with recording((family,), found):
        action()
    return found


@pytest.mark.parametrize(
    "action",
    [
        lambda: torch.softmax(x, -1),
        lambda: x.softmax(-1),
        lambda: F.softmax(x, dim=-1),
        lambda: nn.Softmax(dim=-1)(x),
        lambda: torch.special.softmax(x, -1),
        lambda: torch.nn.functional.log_softmax(x, dim=-1).exp(),
        lambda: getattr(torch, "soft" + "max")(x, -1),
        lambda: rename(x, -1),
        lambda: torch.ops.aten.softmax.int(x, -1),
        lambda: torch.ops.aten._softmax(x, -1, False),
        lambda: torch.Tensor.softmax(x, -1),
        lambda: torch.func.vmap(lambda row: torch.softmax(row, -1))(x),
    ],
)
def test_every_spelling_of_softmax(action):
    assert called(SOFTMAX, action) == ["torch's own softmax"]


@pytest.mark.parametrize(
    "action",
    [
        lambda: F.scaled_dot_product_attention(x, x, x),
        lambda: torch.ops.aten.scaled_dot_product_attention(x, x, x),
        lambda: torch._C._nn.scaled_dot_product_attention(x, x, x),
        lambda: F.scaled_dot_product_attention(x.double().requires_grad_(), x.double(), x.double()),
    ],
)
def test_every_spelling_of_fused_attention(action):
    assert called(FUSED_ATTENTION, action) == ["torch's fused attention"]


@pytest.mark.parametrize("train", [True, False])
def test_multihead_attention_in_both_modes(train):
    layer = nn.MultiheadAttention(4, 2, batch_first=True).train(train)
    with torch.set_grad_enabled(train):
        assert called(MULTIHEAD, lambda: layer(x, x, x)) == ["nn.MultiheadAttention"]


def test_layer_norm():
    assert called(LAYER_NORM, lambda: nn.LayerNorm(4)(x)) == ["torch's own layer norm"]


def test_what_is_not_forbidden_is_not_noted():
    weights = (x - x.amax(-1, keepdim=True)).exp()
    assert called(SOFTMAX, lambda: weights / weights.sum(-1, keepdim=True)) == []
    assert called(SOFTMAX, lambda: "torch.softmax in a string") == []
    assert called(SOFTMAX, lambda: x - torch.logsumexp(x, -1, keepdim=True)) == []
