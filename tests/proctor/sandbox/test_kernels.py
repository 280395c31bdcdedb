"""Forbidden kernels: gone inside the block, back after it, and told as the notebook's recorder tells them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from proctor import forbid
from proctor.forbid import FUSED_ATTENTION, LAYER_NORM, MULTIHEAD, SOFTMAX, Family, recording
from proctor.sandbox.kernels import Blocker, Forbidden

X = torch.randn(2, 3, 4)
ATTENTION = nn.MultiheadAttention(4, 2, batch_first=True).eval()
CALLS = {
    "softmax": (SOFTMAX, lambda: X.softmax(-1)),
    "softmax, with gradient": (SOFTMAX, lambda: torch.softmax(X.clone().requires_grad_(), -1)),
    "log-softmax": (SOFTMAX, lambda: F.log_softmax(X, -1)),
    "cross-entropy": (SOFTMAX, lambda: F.cross_entropy(X[0], torch.tensor([0, 1, 2]))),
    "gumbel": (SOFTMAX, lambda: F.gumbel_softmax(X)),
    "fused attention": (FUSED_ATTENTION, lambda: F.scaled_dot_product_attention(X, X, X)),
    "multi-head": (MULTIHEAD, lambda: ATTENTION(X, X, X)),
    "multi-head, training": (MULTIHEAD, lambda: nn.MultiheadAttention(4, 2)(X, X, X)),
    "layer norm": (LAYER_NORM, lambda: nn.LayerNorm(4)(X)),
    "batch norm": (forbid.BATCH_NORM, lambda: nn.BatchNorm1d(3)(X)),
    "gelu": (forbid.GELU, lambda: F.gelu(X)),
    "dropout": (forbid.DROPOUT, lambda: F.dropout(X, 0.5)),
    "lstm cell": (forbid.RECURRENT, lambda: nn.LSTMCell(4, 5)(X[0])),
}


@pytest.mark.parametrize("name", CALLS)
def test_blocked_as_the_recorder_records(name):
    family, call = CALLS[name]
    recorded: list[str] = []
    with recording((family,), recorded):
        call()
    blocker = Blocker([family])
    with blocker.without([family]), pytest.raises((Forbidden, RuntimeError)):
        call()
    assert blocker.taken() == tuple(recorded) == (family.title,)
    assert blocker.taken() == ()
    call()  # given back


def test_the_refusal_says_what_is_refused():
    blocker = Blocker([SOFTMAX])
    with blocker.without([SOFTMAX]), pytest.raises(Forbidden) as caught:
        X.softmax(-1)
    assert str(caught.value) == "this exercise asks you to do without torch's own softmax"


def test_everything_else_stays():
    blocker = Blocker([SOFTMAX])
    with blocker.without([SOFTMAX]):
        assert F.gelu(X).shape == (*F.layer_norm(X.exp() @ X.mT, (3,)).shape[:2], 4)
        assert blocker.taken() == ()


def test_nothing_forbidden_is_nothing_done():
    blocker = Blocker()
    with blocker.without([]):
        X.softmax(-1)
    assert blocker.taken() == ()


def test_a_family_of_unknown_names_is_no_error():
    blocker = Blocker([unknown := Family.of("a thing of the future", "thing_of_the_future")])
    with blocker.without([unknown]):
        X.softmax(-1)
