"""Chapter 07's reference against torch's own layers with the same weights, plain loops, and finite differences."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model.blocks import DecoderLayer, EncoderLayer, FeedForward, dropout, gelu
from qkv.model.heads import MultiHeadAttention

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-6, torch.float16: 4e-3, torch.bfloat16: 3e-2}
BATCH, TARGET, SOURCE, D_MODEL, N_HEADS, D_FF = 2, 4, 5, 12, 3, 17


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def source(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# gelu


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (7,), (2, 3, 5)])
def test_gelu_is_x_times_the_normal_distribution_function(shape, dtype):
    x = 2 * drawn(*shape, seed=0, dtype=dtype)
    expected = [number * 0.5 * math.erfc(-number / math.sqrt(2)) for number in x.double().flatten().tolist()]
    found = gelu(x)
    assert found.dtype == dtype
    assert found.shape == shape
    wanted = torch.tensor(expected, dtype=torch.float64).reshape(shape)
    torch.testing.assert_close(found.double(), wanted, rtol=FLOATS[dtype], atol=2 * FLOATS[dtype])


def test_gelu_is_torch_s_exact_one_and_not_its_approximation():
    x = drawn(50, seed=1)
    torch.testing.assert_close(gelu(x), F.gelu(x))
    assert (gelu(x) - F.gelu(x, approximate="tanh")).abs().max() > 1e-5


def test_gelu_far_out():
    assert gelu(torch.tensor([-40.0, 0.0, 40.0])).tolist() == [0.0, 0.0, 40.0]


def test_gelu_of_integers_is_refused():
    refuses(
        TypeError, "gelu: x is int64, expected a floating dtype. Use x.float().", gelu, torch.ones(2, dtype=torch.int64)
    )


# dropout


@pytest.mark.parametrize("p", [0.0, 0.25, 0.9])
@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout_one_number_at_a_time(p, dtype):
    x = drawn(3, 4, 5, seed=2, dtype=dtype)
    chances = torch.rand(3, 4, 5, generator=source(7)).flatten().tolist()
    expected = [
        number / (1 - p) if chance >= p else 0.0
        for number, chance in zip(x.double().flatten().tolist(), chances, strict=True)
    ]
    found = dropout(x, p, source(7))
    assert found.dtype == dtype
    wanted = torch.tensor(expected, dtype=torch.float64).reshape(3, 4, 5)
    torch.testing.assert_close(found.double(), wanted, rtol=2 * FLOATS[dtype], atol=FLOATS[dtype])


def test_everything_dropped_is_zero_and_so_is_the_gradient():
    x = drawn(3, 4, seed=3).requires_grad_()
    thinned = dropout(x, 1.0, source())
    (gradient,) = torch.autograd.grad(thinned.sum(), x)
    assert thinned.tolist() == gradient.tolist() == [[0.0] * 4] * 3


def test_nothing_dropped_leaves_everything():
    x = drawn(5, 3, seed=4)
    assert torch.equal(dropout(x, 0.0, source()), x)


def test_the_mean_stays_and_the_share_is_p():
    thinned = dropout(torch.ones(1_000_000), 0.3, source())
    assert thinned.mean().item() == pytest.approx(1, abs=0.003)
    assert (thinned == 0).double().mean().item() == pytest.approx(0.3, abs=0.002)


def test_the_generator_moves_on_and_can_be_repeated():
    x, g = drawn(6, 7, seed=5), source(1)
    first, second = dropout(x, 0.5, g), dropout(x, 0.5, g)
    assert not torch.equal(first, second)
    assert torch.equal(first, dropout(x, 0.5, source(1)))


def test_the_gradient_flows_through_the_survivors_alone():
    x = drawn(4, 5, seed=6).requires_grad_()
    (gradient,) = torch.autograd.grad(dropout(x, 0.4, source(2)).sum(), x)
    kept = torch.rand(4, 5, generator=source(2)) >= 0.4
    torch.testing.assert_close(gradient, kept.double() / 0.6)


# FeedForward


def feed_forward(d_model: int = 4, d_ff: int = 7, dtype: torch.dtype = torch.float64) -> FeedForward:
    torch.manual_seed(0)
    return FeedForward(d_model, d_ff, torch.tanh).to(dtype)


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 5, 3)])
def test_the_same_two_layers_for_every_vector(leading):
    network, x = feed_forward(), drawn(*leading, 4, seed=7)
    found = network(x)
    assert found.shape == x.shape
    for vector, result in zip(x.reshape(-1, 4), found.reshape(-1, 4), strict=True):
        rows = zip(network.up.weight.detach(), network.up.bias.detach(), strict=True)
        hidden = [math.tanh(row @ vector + b) for row, b in rows]
        expected = network.down.weight @ torch.tensor(hidden, dtype=torch.float64) + network.down.bias
        torch.testing.assert_close(result, expected)


def test_the_parts_of_the_network():
    network = FeedForward(4, 7, torch.relu)
    assert {name: tuple(p.shape) for name, p in network.named_parameters()} == {
        "up.weight": (7, 4),
        "up.bias": (7,),
        "down.weight": (4, 7),
        "down.bias": (4,),
    }
    assert network.activation is torch.relu


def test_no_position_feels_another():
    network, x = feed_forward(), drawn(3, 4, seed=8)
    jacobian = torch.autograd.functional.jacobian(network, x)  # (3, 4, 3, 4)
    for i in range(3):
        for j in range(3):
            assert bool((jacobian[i, :, j] == 0).all()) == (i != j)


def test_a_stream_of_another_width_is_refused():
    words = (
        "FeedForward: x has shape (2, 5), so d_model = 5; expected d_model = 4, which it was built with. "
        "x is (..., d_model)."
    )
    refuses(ValueError, words, feed_forward(), drawn(2, 5, seed=0))


def test_a_network_without_width_is_refused():
    refuses(ValueError, "FeedForward: d_ff is 0, expected a positive integer.", FeedForward, 4, 0, torch.relu)


# Encoder and decoder layer against torch's


def off(found: Tensor, expected: Tensor) -> float:
    return ((found - expected).norm() / expected.norm()).item()


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    three = ours.q_proj, ours.k_proj, ours.v_proj
    theirs.in_proj_weight.copy_(torch.cat([p.weight for p in three]))
    theirs.in_proj_bias.copy_(torch.cat([p.bias for p in three]))
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())


def copy_feed_forward(theirs: nn.Module, ours: FeedForward) -> None:
    theirs.linear1.load_state_dict(ours.up.state_dict())
    theirs.linear2.load_state_dict(ours.down.state_dict())


def shaken(layer: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Norms start as the identity, where an exchanged one would not show: move every parameter."""
    with torch.no_grad():
        for i, parameter in enumerate(layer.parameters()):
            parameter.add_(0.3 * drawn(*parameter.shape, seed=100 + i, dtype=parameter.dtype))
    return layer.to(dtype)


def encoders(dtype: torch.dtype = torch.float64) -> tuple[EncoderLayer, nn.TransformerEncoderLayer]:
    torch.manual_seed(0)
    ours = shaken(EncoderLayer(D_MODEL, N_HEADS, D_FF), dtype)
    options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True, "dtype": dtype}
    theirs = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FF, **options)
    with torch.no_grad():
        copy_attention(theirs.self_attn, ours.attention)
        copy_feed_forward(theirs, ours.feed_forward)
        theirs.norm1.load_state_dict(ours.norm1.state_dict())
        theirs.norm2.load_state_dict(ours.norm2.state_dict())
    return ours, theirs


def decoders(dtype: torch.dtype = torch.float64) -> tuple[DecoderLayer, nn.TransformerDecoderLayer]:
    torch.manual_seed(0)
    ours = shaken(DecoderLayer(D_MODEL, N_HEADS, D_FF), dtype)
    options = {"dropout": 0.0, "activation": "gelu", "batch_first": True, "norm_first": True, "dtype": dtype}
    theirs = nn.TransformerDecoderLayer(D_MODEL, N_HEADS, D_FF, **options)
    with torch.no_grad():
        copy_attention(theirs.self_attn, ours.self_attention)
        copy_attention(theirs.multihead_attn, ours.cross_attention)
        copy_feed_forward(theirs, ours.feed_forward)
        for name in ("norm1", "norm2", "norm3"):
            getattr(theirs, name).load_state_dict(getattr(ours, name).state_dict())
    return ours, theirs


def stream(seed: int = 20, dtype: torch.dtype = torch.float64) -> Tensor:
    return 2 * drawn(BATCH, TARGET, D_MODEL, seed=seed, dtype=dtype)


def memory(seed: int = 21, dtype: torch.dtype = torch.float64) -> Tensor:
    return 3 * drawn(BATCH, SOURCE, D_MODEL, seed=seed, dtype=dtype) + 1


PADDING = torch.tensor([[[True, True, True, False]], [[True, True, False, False]]])
CAUSAL = torch.ones(TARGET, TARGET).tril().bool()
MEMORY_MASK = torch.tensor([[[True] * 5], [[True, True, True, False, False]]])
MASKS = {"none": None, "causal": CAUSAL, "padding": PADDING, "both": CAUSAL & PADDING}


def for_torch(mask: Tensor | None, keys: int = TARGET) -> Tensor | None:
    """True means "may not" there, and each head wants a mask of its own."""
    return None if mask is None else ~mask.expand(BATCH, TARGET, keys).repeat_interleave(N_HEADS, dim=0)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_encoder_layer_is_torch_s(mask, dtype):
    ours, theirs = encoders(dtype)
    found = ours(stream(dtype=dtype), MASKS[mask])
    assert found.dtype == dtype
    assert off(found, theirs(stream(dtype=dtype), src_mask=for_torch(MASKS[mask]))) < FLOATS[dtype]


@pytest.mark.parametrize("self_mask", MASKS)
@pytest.mark.parametrize("memory_mask", [None, MEMORY_MASK])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_decoder_layer_is_torch_s(self_mask, memory_mask, dtype):
    ours, theirs = decoders(dtype)
    x, over = stream(dtype=dtype), memory(dtype=dtype)
    found = ours(x, over, MASKS[self_mask], memory_mask)
    assert found.dtype == dtype
    masks = for_torch(MASKS[self_mask]), for_torch(memory_mask, SOURCE)
    expected = theirs(x, over, tgt_mask=masks[0], memory_mask=masks[1])
    assert off(found, expected) < FLOATS[dtype]


def test_gradients_are_torch_s_too():
    ours, theirs = decoders()
    found, expected = [], []
    for layer, into in ((ours, found), (theirs, expected)):
        x, over = stream().requires_grad_(), memory().requires_grad_()
        into.extend(torch.autograd.grad((layer(x, over) * stream(seed=22)).sum(), (x, over)))
    torch.testing.assert_close(found, expected)


def test_the_norms_belong_to_different_places():
    ours, _ = encoders()
    assert not torch.equal(ours.norm1.weight, ours.norm2.weight)  # else an exchange would not show above
    assert [name for name, _ in ours.named_children()] == ["norm1", "attention", "norm2", "feed_forward"]
    layer, _ = decoders()
    assert [name for name, _ in layer.named_children()] == [
        "norm1",
        "self_attention",
        "norm2",
        "cross_attention",
        "norm3",
        "feed_forward",
    ]
    assert ours.feed_forward.activation is layer.feed_forward.activation is gelu


def test_sublayers_that_say_nothing_leave_the_stream_untouched():
    ours, _ = decoders()
    with torch.no_grad():
        for last in (ours.self_attention.out_proj, ours.cross_attention.out_proj, ours.feed_forward.down):
            last.weight.zero_()
            last.bias.zero_()
    assert torch.equal(ours(stream(), memory()), stream())


def test_no_causal_mask_is_implied():
    ours, _ = decoders()
    changed = stream()
    changed[:, -1] *= -1
    first = ours(changed, memory())[:, 0] - ours(stream(), memory())[:, 0]
    assert first.abs().max() > 1e-3
    first = ours(changed, memory(), CAUSAL)[:, 0] - ours(stream(), memory(), CAUSAL)[:, 0]
    assert (first == 0).all()


def test_the_memory_must_be_of_the_same_batch_and_width():
    ours, _ = decoders()
    words = (
        "DecoderLayer: memory has shape (3, 5, 12), so batch = 3; expected batch = 2, as x has it. "
        "memory is (batch, source, d_model)."
    )
    refuses(ValueError, words, ours, stream(), drawn(3, 5, 12, seed=0))
    words = (
        "DecoderLayer: memory has shape (2, 5, 11), so d_model = 11; expected d_model = 12, which it was built with. "
        "memory is (batch, source, d_model)."
    )
    refuses(ValueError, words, ours, stream(), drawn(2, 5, 11, seed=0))


def test_masks_that_do_not_fit_are_refused():
    ours, _ = decoders()
    words = (
        "DecoderLayer: memory_mask has shape (4, 4), which does not broadcast to (batch, target, source) = (2, 4, 5)."
    )
    refuses(ValueError, words, ours, stream(), memory(), None, CAUSAL)
    words = (
        'EncoderLayer: mask is float64, expected bool, where True means "may attend". Use mask != 0, or mask == 0 '
        'if your zeros mean "allowed".'
    )
    refuses(TypeError, words, encoders()[0], stream(), CAUSAL.double())


@pytest.mark.parametrize("layer", [EncoderLayer, DecoderLayer])
def test_heads_must_divide_the_width(layer):
    words = f"{layer.__name__}: n_heads is 5, which does not divide d_model = 12. Use one of 1, 2, 3, 4, 6, 12."
    refuses(ValueError, words, layer, 12, 5, 17)


# What all of them promise

CALLS = {
    "gelu": (gelu, lambda: (drawn(3, 5, seed=30),)),
    "dropout": (lambda x: dropout(x, 0.4, source(3)), lambda: (drawn(3, 5, seed=31),)),
    "FeedForward": (feed_forward(), lambda: (drawn(2, 3, 4, seed=32),)),
    "EncoderLayer": (encoders()[0], lambda: (stream()[:, :2],)),
    "DecoderLayer": (decoders()[0], lambda: (stream()[:, :2], memory()[:, :3])),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_agree_with_finite_differences(name):
    function, make = CALLS[name]
    torch.autograd.gradcheck(function, tuple(a.detach().requires_grad_() for a in make()))


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_left_as_they_were(name):
    function, make = CALLS[name]
    arguments = make()
    function(*arguments)
    for after, before in zip(arguments, make(), strict=True):
        assert torch.equal(after, before)


def test_nothing_is_made_on_another_device():
    x, over = stream().to("meta"), memory().to("meta")
    results = [
        gelu(x),
        dropout(x, 0.5, source()),
        feed_forward(D_MODEL).to("meta")(x),
        encoders()[0].to("meta")(x),
        decoders()[0].to("meta")(x, over),
    ]
    assert all(result.device.type == "meta" for result in results)
