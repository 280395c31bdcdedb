"""Chapter 06's reference against torch, autograd, finite differences, and loops in Python's own floats."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from qkv.model import t5
from qkv.model.norm import PostNorm, PreNorm, RMSNorm, batch_norm, layer_norm, layer_norm_backward, rms_norm

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}
LEADING = [(), (2,), (2, 3)]


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64, std: float = 1.0, mean: float = 0.0) -> Tensor:
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (mean + std * noise).to(dtype)


def given(*leading: int, d: int = 5, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors, gains and shifts."""
    return (
        drawn(*leading, d, seed=0, dtype=dtype, std=2, mean=0.5),
        drawn(d, seed=1, dtype=dtype, std=0.3, mean=1),
        drawn(d, seed=2, dtype=dtype),
    )


def by_loop(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Layer norm of one vector after the other, in Python's own floats."""
    rows = []
    for row in x.double().reshape(-1, x.shape[-1]).tolist():
        mean = math.fsum(row) / len(row)
        sigma = math.sqrt(math.fsum((a - mean) ** 2 for a in row) / len(row) + eps)
        rows.append([g * (a - mean) / sigma + b for a, g, b in zip(row, gamma.tolist(), beta.tolist(), strict=True)])
    return torch.tensor(rows, dtype=torch.float64).reshape(x.shape)


def differences(function: Callable[[Tensor], Tensor], at: Tensor, step: float = 1e-6) -> Tensor:
    """The gradient of a number by central differences, one component after the other."""
    slope = torch.zeros_like(at)
    for i in range(at.numel()):
        there, back = at.clone(), at.clone()
        there.view(-1)[i] += step
        back.view(-1)[i] -= step
        slope.view(-1)[i] = (function(there) - function(back)) / (2 * step)
    return slope


def refuses(error: type[Exception], words: str, function: Any, *args: Any) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)


# layer_norm


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm_against_torch_and_a_loop(leading, dtype):
    x, gamma, beta = given(*leading, dtype=dtype)
    found = layer_norm(x, gamma, beta)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), by_loop(x, gamma, beta, 1e-5), rtol=FLOATS[dtype], atol=FLOATS[dtype])
    torch.testing.assert_close(found, F.layer_norm(x, (5,), gamma, beta), rtol=FLOATS[dtype], atol=FLOATS[dtype])


@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.5])
def test_eps_stands_under_the_root(eps):
    x, gamma, beta = given(3)
    torch.testing.assert_close(layer_norm(x, gamma, beta, eps), F.layer_norm(x, (5,), gamma, beta, eps))


def test_every_vector_has_mean_0_and_variance_1():
    x, _, _ = given(2, 3, d=64)
    found = layer_norm(x, torch.ones(64).double(), torch.zeros(64).double(), eps=0.0)
    torch.testing.assert_close(found.mean(-1), torch.zeros(2, 3).double())
    torch.testing.assert_close(found.var(-1, unbiased=False), torch.ones(2, 3).double())


@pytest.mark.parametrize("deviation", [1.0, 0.1])
def test_a_mean_of_100_costs_no_digits(deviation):
    x = drawn(3, 64, seed=3, dtype=torch.float32, mean=100, std=deviation)
    ones, zeros = torch.ones(64), torch.zeros(64)
    torch.testing.assert_close(layer_norm(x, ones, zeros).double(), by_loop(x, ones, zeros, 1e-5), rtol=0, atol=1e-4)


def test_a_constant_vector_becomes_beta():
    _, gamma, beta = given(d=5)
    torch.testing.assert_close(layer_norm(torch.full((2, 5), 7.0).double(), gamma, beta), beta.expand(2, 5))


def test_no_vector_feels_its_neighbours():
    x, gamma, beta = given(4, 3)
    other = drawn(4, 3, 5, seed=4, std=50)
    other[1, 2] = x[1, 2]
    assert torch.equal(layer_norm(x, gamma, beta)[1, 2], layer_norm(other, gamma, beta)[1, 2])


def test_the_gradients_of_layer_norm_are_torch_s():
    found = []
    for norm in (layer_norm, lambda x, gamma, beta: F.layer_norm(x, (5,), gamma, beta)):
        leaves = [leaf.requires_grad_() for leaf in given(2, 3)]
        found.append(torch.autograd.grad((norm(*leaves) * drawn(2, 3, 5, seed=5)).sum(), leaves))
    torch.testing.assert_close(found[0], found[1])


def test_gains_of_another_width_are_refused():
    words = "{}: gamma has shape (4,), so d = 4; expected d = 5, as x has it. gamma is (d,)."
    x, _, beta = given(2)
    for norm in (layer_norm, batch_norm):
        refuses(ValueError, words.format(norm.__name__), norm, x, torch.ones(4).double(), beta)
    refuses(ValueError, words.format("rms_norm"), rms_norm, x, torch.ones(4).double())
    refuses(
        ValueError,
        words.format("layer_norm_backward").replace("x has", "grad has"),
        layer_norm_backward,
        x,
        x,
        torch.ones(4).double(),
    )


def test_integers_are_refused():
    words = "layer_norm: x is int64, expected a floating dtype. Use x.float()."
    refuses(TypeError, words, layer_norm, torch.ones(2, 5).long(), torch.ones(5), torch.ones(5))


# layer_norm_backward


@pytest.mark.parametrize("eps", [1e-5, 0.5])
@pytest.mark.parametrize("leading", LEADING)
def test_the_way_back_against_autograd(leading, eps):
    x, gamma, beta = (leaf.requires_grad_() for leaf in given(*leading))
    grad = drawn(*leading, 5, seed=6)
    expected = torch.autograd.grad(F.layer_norm(x, (5,), gamma, beta, eps), (x, gamma, beta), grad)
    found = layer_norm_backward(grad, x.detach(), gamma.detach(), eps)
    torch.testing.assert_close(found, expected)
    assert [tuple(t.shape) for t in found] == [(*leading, 5), (5,), (5,)]


@pytest.mark.parametrize("std", [1.0, 3e-3])
def test_the_way_back_against_finite_differences(std):
    x, gamma, beta = drawn(2, 5, seed=7, std=std), *given(2)[1:]
    grad = drawn(2, 5, seed=8)

    def total(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
        return (by_loop(x, gamma, beta, 1e-5) * grad).sum()

    expected = (
        differences(lambda t: total(t, gamma, beta), x, step=1e-5 * std),
        differences(lambda t: total(x, t, beta), gamma),
        differences(lambda t: total(x, gamma, t), beta),
    )
    torch.testing.assert_close(layer_norm_backward(grad, x, gamma), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_way_back_keeps_the_dtype(dtype):
    x, gamma, _ = given(2, 3, dtype=dtype)
    grad = drawn(2, 3, 5, seed=9, dtype=dtype)
    found = layer_norm_backward(grad, x, gamma)
    exact = layer_norm_backward(grad.double(), x.double(), gamma.double())
    for some, full in zip(found, exact, strict=True):
        assert some.dtype == dtype
        torch.testing.assert_close(some.double(), full, rtol=FLOATS[dtype], atol=FLOATS[dtype])


def test_the_gradient_neither_shifts_nor_stretches():
    x, gamma, _ = given(2, 3)
    dx, _, _ = layer_norm_backward(drawn(2, 3, 5, seed=10), x, gamma, eps=0.0)
    zero = torch.zeros(2, 3).double()
    torch.testing.assert_close(dx.sum(-1), zero)
    torch.testing.assert_close((dx * x).sum(-1), zero)


def test_gradient_and_input_must_have_one_shape():
    words = (
        "layer_norm_backward: x has shape (3, 5), so leading dimensions = (3,); "
        "expected leading dimensions = (2,), as grad has it. x is (..., d)."
    )
    refuses(ValueError, words, layer_norm_backward, torch.ones(2, 5), torch.ones(3, 5), torch.ones(5))


# batch_norm


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_batch_norm_against_torch_in_training_mode(dtype, eps):
    x, gamma, beta = given(7, dtype=dtype)
    found = batch_norm(x, gamma, beta, eps)
    assert found.dtype == dtype
    expected = F.batch_norm(x.double(), None, None, gamma.double(), beta.double(), training=True, eps=eps)
    torch.testing.assert_close(found.double(), expected, rtol=FLOATS[dtype], atol=FLOATS[dtype])


def test_batch_norm_is_layer_norm_of_the_columns():
    x, ones, zeros = drawn(7, 5, seed=11), torch.ones(5).double(), torch.zeros(5).double()
    across = layer_norm(x.T, torch.ones(7).double(), torch.zeros(7).double()).T
    torch.testing.assert_close(batch_norm(x, ones, zeros), across)


def test_a_batch_of_one_becomes_beta():
    x, gamma, beta = given(1)
    torch.testing.assert_close(batch_norm(x, gamma, beta), beta[None])


def test_the_gradients_of_batch_norm_are_torch_s():
    found = []
    for norm in (batch_norm, lambda x, gamma, beta: F.batch_norm(x, None, None, gamma, beta, training=True)):
        leaves = [leaf.requires_grad_() for leaf in given(7)]
        found.append(torch.autograd.grad((norm(*leaves) * drawn(7, 5, seed=12)).sum(), leaves))
    torch.testing.assert_close(found[0], found[1])


def test_batch_norm_wants_two_dimensions():
    words = "batch_norm: x has shape (2, 3, 5), expected 2 dimensions: (batch, d)."
    refuses(ValueError, words, batch_norm, torch.ones(2, 3, 5), torch.ones(5), torch.ones(5))


# rms_norm


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_rms_norm_against_torch(leading, dtype, eps):
    x, gamma, _ = given(*leading, dtype=dtype)
    found = rms_norm(x, gamma, eps)
    assert found.dtype == dtype
    expected = F.rms_norm(x.double(), (5,), gamma.double(), eps)
    torch.testing.assert_close(found.double(), expected, rtol=FLOATS[dtype], atol=FLOATS[dtype])


def test_rms_norm_of_centred_vectors_is_layer_norm():
    x, gamma, beta = given(2, 3)
    centred = x - x.mean(-1, keepdim=True)
    torch.testing.assert_close(rms_norm(centred, gamma, 1e-5) + beta, layer_norm(x, gamma, beta))


def test_a_vector_of_zeros_stays_zero_and_has_a_finite_gradient():
    x = torch.zeros(2, 5, requires_grad=True)
    found = rms_norm(x, torch.ones(5))
    (gradient,) = torch.autograd.grad(found.sum(), x)
    assert (found == 0).all()
    assert gradient.isfinite().all()


def test_rms_norm_as_a_module_is_torchs_and_starts_at_gain_one():
    ours, torchs = RMSNorm(5, eps=1e-3), torch.nn.RMSNorm(5, eps=1e-3)
    assert [(name, p.tolist()) for name, p in ours.named_parameters()] == [("gamma", [1.0] * 5)]
    gain = given()[1].float()
    with torch.no_grad():
        ours.gamma.copy_(gain)
        torchs.weight.copy_(gain)
    x = drawn(2, 3, 5, seed=3).float() / 30  # small, so that eps counts
    torch.testing.assert_close(ours(x), torchs(x))
    assert RMSNorm(5).eps == 1e-6
    refuses(ValueError, "RMSNorm: d is 0, expected a positive integer.", RMSNorm, 0)
    refuses(ValueError, "RMSNorm: eps is 0, expected a number above 0.", RMSNorm, 5, 0)


def test_t5_hands_the_same_norm_on():
    assert t5.RMSNorm is RMSNorm


# PreNorm and PostNorm


def wrapped(cls: Any, sublayer: Any) -> Any:
    block = cls(5, sublayer).double()
    with torch.no_grad():
        block.norm.weight.copy_(given()[1])
        block.norm.bias.copy_(given()[2])
    return block


@pytest.mark.parametrize("leading", LEADING)
def test_before_and_after(leading):
    x, gamma, beta = given(*leading)
    add = drawn(5, seed=13)

    def sublayer(x: Tensor, *more: Tensor) -> Tensor:
        return torch.sin(x) * sum(more, add)

    more = drawn(5, seed=14), drawn(*leading, 1, seed=15)
    before = x + torch.sin(layer_norm(x, gamma, beta)) * sum(more, add)
    after = layer_norm(x + torch.sin(x) * sum(more, add), gamma, beta)
    torch.testing.assert_close(wrapped(PreNorm, sublayer)(x, *more), before)
    torch.testing.assert_close(wrapped(PostNorm, sublayer)(x, *more), after)


@pytest.mark.parametrize(("cls", "first"), [(PreNorm, True), (PostNorm, False)])
def test_they_are_torch_s_encoder_layers_from_these_parts(cls, first):
    """Self-attention and feed-forward, each wrapped, with the weights of torch's own layer."""
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(6, 2, 11, dropout=0.0, batch_first=True, norm_first=first).double()
    attend = theirs.self_attn
    blocks = [
        cls(6, lambda x: attend(x, x, x, need_weights=False)[0]),
        cls(6, nn.Sequential(theirs.linear1, nn.ReLU(), theirs.linear2)),
    ]
    blocks[0].norm, blocks[1].norm = theirs.norm1, theirs.norm2
    x = drawn(3, 4, 6, seed=16)
    torch.testing.assert_close(blocks[1](blocks[0](x)), theirs(x))


@pytest.mark.parametrize("cls", [PreNorm, PostNorm])
def test_gradients_reach_the_norm_and_the_sublayer(cls):
    block = cls(5, nn.Linear(5, 5))
    block(torch.randn(2, 5)).square().sum().backward()
    assert {name for name, p in block.named_parameters() if p.grad is not None} == {
        "norm.weight", "norm.bias", "sublayer.weight", "sublayer.bias",
    }  # fmt: skip


@pytest.mark.parametrize("cls", [PreNorm, PostNorm])
def test_another_width_is_refused(cls):
    words = (
        f"{cls.__name__}: x has shape (2, 4), so d_model = 4; expected d_model = 5, which it was built with. "
        "x is (..., d_model)."
    )
    refuses(ValueError, words, cls(5, nn.Identity()), torch.ones(2, 4))
    refuses(ValueError, f"{cls.__name__}: d_model is 0, expected a positive integer.", cls, 0, nn.Identity())


def test_on_another_device():
    x, gamma, beta = (t.to("meta") for t in given(2, 3))
    results = [layer_norm(x, gamma, beta), *layer_norm_backward(x, x, gamma), rms_norm(x, gamma)]
    results.append(batch_norm(x[0], gamma, beta))
    assert all(result.device.type == "meta" for result in results)
