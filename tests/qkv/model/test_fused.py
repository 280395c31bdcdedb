"""The fused kernels change how the model computes, never what."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from qkv.model import heads
from qkv.model.blocks import DecoderLayer, EncoderLayer
from qkv.model.fused import fuse, fused_attention
from qkv.model.masks import causal_mask, padding_mask
from qkv.model.scaling import scaled_dot_product_attention
from qkv.model.transformer import Transformer

BATCH, HEADS, SEQ, D_HEAD = 2, 3, 5, 7


@pytest.fixture
def stream() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(BATCH, SEQ, HEADS * D_HEAD, dtype=torch.float64)


def agree(one: nn.Module, other: nn.Module, *args: Tensor | None) -> None:
    """Same output, and the same gradient of every parameter."""
    results = [model(*args) for model in (one, other)]
    torch.testing.assert_close(*results)
    for result in results:
        result.square().sum().backward()
    pairs = list(zip(one.named_parameters(), other.named_parameters(), strict=True))
    assert pairs
    for (name, ours), (_, theirs) in pairs:
        torch.testing.assert_close(ours.grad, theirs.grad, msg=lambda text, name=name: f"{name}: {text}")


MASKS = {
    "none": None,
    "causal": causal_mask(SEQ),
    "padding": padding_mask(torch.tensor([SEQ, 2]), SEQ),
    "both": causal_mask(SEQ) & padding_mask(torch.tensor([SEQ, 2]), SEQ),
    "one row for all queries": torch.tensor([True, True, False, True, False]),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_a_fused_layer_computes_the_same(mask: Tensor | None, stream: Tensor) -> None:
    layer = EncoderLayer(HEADS * D_HEAD, HEADS, 11).double()
    agree(layer, fuse(copy.deepcopy(layer)), stream, mask)


def test_a_student_s_parts_are_fused_as_ours_are(stream: Tensor) -> None:
    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model: int, n_heads: int) -> None:
            super().__init__()
            self.n_heads = n_heads
            self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
            self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
            raise AssertionError("the fused kernel should run")

    class FeedForward(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.activation = gelu

    def gelu(x: Tensor) -> Tensor:
        raise AssertionError("torch's own should run")

    ours = heads.MultiHeadAttention(HEADS * D_HEAD, HEADS).double()
    theirs = MultiHeadAttention(HEADS * D_HEAD, HEADS).double()
    theirs.load_state_dict(ours.state_dict())
    agree(ours, fuse(theirs), stream, stream, stream, causal_mask(SEQ))
    torch.testing.assert_close(fuse(FeedForward()).activation(stream), nn.functional.gelu(stream))


def test_a_fused_decoder_layer_computes_the_same(stream: Tensor) -> None:
    layer = DecoderLayer(HEADS * D_HEAD, HEADS, 11).double()
    memory = torch.randn(BATCH, 4, HEADS * D_HEAD, dtype=torch.float64)
    agree(layer, fuse(copy.deepcopy(layer)), stream, memory, causal_mask(SEQ), padding_mask(torch.tensor([4, 1]), 4))


def test_a_fused_transformer_computes_the_same() -> None:
    torch.manual_seed(0)
    model = Transformer(13, 17, 8, 2, 19, n_layers=2).double()
    source, inputs = torch.randint(13, (BATCH, 6)), torch.randint(17, (BATCH, SEQ))
    agree(model, fuse(copy.deepcopy(model)), source, inputs, padding_mask(torch.tensor([6, 3]), 6))


def test_what_is_fused_stores_no_weights(stream: Tensor) -> None:
    """The point of it: no tensor of (query, key) is kept for the way back."""
    layer = EncoderLayer(HEADS * D_HEAD, HEADS, 11).double()

    def saves_weights(model: nn.Module) -> bool:
        shapes: set[tuple[int, ...]] = set()
        note = lambda kept: shapes.add(tuple(kept.shape)) or kept  # noqa: E731
        with torch.autograd.graph.saved_tensors_hooks(note, lambda kept: kept):
            model(stream, causal_mask(SEQ))
        return any(shape[-2:] == (SEQ, SEQ) for shape in shapes)

    assert saves_weights(layer)
    assert not saves_weights(fuse(layer))


def test_fewer_queries_than_keys_are_not_taken_for_causal() -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(BATCH, HEADS, n, D_HEAD) for n in (3, SEQ, SEQ))
    mask = torch.ones(3, SEQ).tril().bool()
    torch.testing.assert_close(fused_attention(q, k, v, mask), scaled_dot_product_attention(q, k, v, mask)[0])


def test_another_activation_stays() -> None:
    layer = EncoderLayer(8, 2, 16)
    layer.feed_forward.activation = torch.relu
    assert fuse(layer).feed_forward.activation is torch.relu
