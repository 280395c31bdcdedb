"""Chapter 11's reference against torch, against plain loops, and against counts that torch makes itself."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from qkv.model.blocks import EncoderLayer
from qkv.model.cost import (
    cache_bytes,
    cached_attention,
    checkpointed,
    layer_flops,
    linear_attention,
    linformer_attention,
    tiled_attention,
    window_attention,
)

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 8e-3, torch.bfloat16: 6e-2}
LEADING = [(), (2,), (2, 5)]
FEW, MANY = 7, 300  # positions for a loop; positions at which a matrix of all pairs stands out


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def qkv(query: int, key: int, *leading: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys of width 4, values of width 3."""
    return (
        drawn(*leading, query, 4, seed=0, dtype=dtype),
        drawn(*leading, key, 4, seed=1, dtype=dtype),
        drawn(*leading, key, 3, seed=2, dtype=dtype),
    )


def refuses(error: type[Exception], words: str, function: object, *args: object, **kwargs: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args, **kwargs)  # type: ignore[operator]


class Largest(TorchDispatchMode):
    """The most entries that a tensor made inside has."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else [made]:
            if isinstance(one, Tensor):
                self.entries = max(self.entries, one.numel())
        return made


def by_loop(q: Tensor, k: Tensor, v: Tensor, weigh, sees) -> Tensor:
    """One query at a time, in Python's own floats: weigh(query, key) for the keys j that query i sees."""
    if q.dim() > 2:
        return torch.stack([by_loop(*one, weigh, sees) for one in zip(q, k, v, strict=True)])
    rows = []
    for i, query in enumerate(q.tolist()):
        weights = [weigh(query, key) if sees(i, j) else 0.0 for j, key in enumerate(k.tolist())]
        total = math.fsum(weights)
        rows.append([math.fsum(w * x for w, x in zip(weights, column, strict=True)) / total for column in v.T.tolist()])
    return torch.tensor(rows, dtype=torch.float64)


def dot(a: list[float], b: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def exponential(query: list[float], key: list[float]) -> float:
    return math.exp(dot(query, key) / math.sqrt(len(query)))


# layer_flops


@pytest.mark.parametrize(("n", "d_model", "n_heads", "d_ff"), [(7, 12, 3, 20), (1, 6, 1, 5), (11, 8, 8, 3)])
def test_flops_are_those_that_torch_counts_in_a_layer(n, d_model, n_heads, d_ff):
    layer = EncoderLayer(d_model, n_heads, d_ff)
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, n, d_model))
    assert sum(layer_flops(n, d_model, n_heads, d_ff)) == counter.get_total_flops()


def test_the_three_parts_of_a_layer():
    n, d_model, d_ff = 5, 12, 30
    multiplications = 4 * n * d_model**2, 2 * n**2 * d_model, 2 * n * d_model * d_ff
    for n_heads in (1, 2, 4, 12):
        assert layer_flops(n, d_model, n_heads, d_ff) == tuple(2 * m for m in multiplications)
    assert layer_flops(0, 12, 3, 30) == (0, 0, 0)
    assert all(type(part) is int for part in layer_flops(5, 12, 3, 30))


def test_sizes_that_make_no_layer_are_refused():
    refuses(ValueError, "layer_flops: n is -1, expected an integer that is not negative.", layer_flops, -1, 4, 2, 8)
    words = "layer_flops: n_heads is 5, which does not divide d_model = 12. Use one of 1, 2, 3, 4, 6, 12."
    refuses(ValueError, words, layer_flops, 3, 12, 5, 8)


# window_attention


@pytest.mark.parametrize(("window", "dilation"), [(1, 1), (3, 1), (3, 2), (2, 5), (9, 1), (4, 11)])
@pytest.mark.parametrize("leading", LEADING)
def test_a_window_against_a_loop(window, dilation, leading):
    q, k, v = qkv(FEW, FEW, *leading)
    seen = {(i, i - dilation * m) for i in range(FEW) for m in range(window)}
    expected = by_loop(q, k, v, exponential, lambda i, j: (i, j) in seen)
    torch.testing.assert_close(window_attention(q, k, v, window, dilation), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_window_is_a_mask_of_torch_s_own_attention(dtype):
    q, k, v = qkv(FEW, FEW, 2, dtype=dtype)
    back = torch.arange(FEW)[:, None] - torch.arange(FEW)
    expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), (back >= 0) & (back < 3))
    found = window_attention(q, k, v, 3)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=FLOATS[dtype])


def test_a_window_makes_no_matrix_of_all_pairs():
    q, k, v = qkv(MANY, MANY)
    with Largest() as largest:
        window_attention(q, k, v, 5, 2)
    assert largest.entries < MANY**2 / 4


def test_a_window_of_huge_scores():
    q, k, v = qkv(FEW, FEW, dtype=torch.float32)
    assert window_attention(300 * q, 300 * k, v, 3).isfinite().all()


def test_a_window_needs_equal_lengths_and_at_least_one_key():
    q, k, v = qkv(FEW, 5)
    words = "window_attention: k has shape (5, 4), so n = 5; expected n = 7, as q has it. k is (..., n, d_k)."
    refuses(ValueError, words, window_attention, q, k, v, 2)
    words = "window_attention: window is 0, expected a positive integer."
    refuses(ValueError, words, window_attention, *qkv(5, 5), 0)


# linformer_attention


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("dtype", FLOATS)
def test_linformer_is_attention_over_mixtures(leading, dtype):
    q, k, v = qkv(6, FEW, *leading, dtype=dtype)
    e, f = drawn(5, FEW, seed=3, dtype=dtype) / 2, drawn(5, FEW, seed=4, dtype=dtype) / 2
    mixed = [torch.einsum("rn,...nd->...rd", m.double(), x.double()) for m, x in ((e, k), (f, v))]
    expected = F.scaled_dot_product_attention(q.double(), *mixed)
    found = linformer_attention(q, k, v, e, f)
    assert found.dtype == dtype
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=3 * FLOATS[dtype])


def test_linformer_that_mixes_nothing_is_attention():
    q, k, v = qkv(6, FEW, 2)
    keep = torch.eye(FEW, dtype=torch.float64)
    torch.testing.assert_close(linformer_attention(q, k, v, keep, keep), F.scaled_dot_product_attention(q, k, v))


def test_linformer_makes_no_matrix_of_all_pairs():
    q, k, v = qkv(MANY, MANY + 1)
    with Largest() as largest:
        linformer_attention(q, k, v, drawn(8, MANY + 1, seed=3), drawn(8, MANY + 1, seed=4))
    assert largest.entries < MANY**2 / 4


def test_mixtures_must_be_of_the_keys_that_there_are():
    q, k, v = qkv(6, FEW)
    words = "linformer_attention: f has shape (5, 6), so key = 6; expected key = 7, as k has it. f is (rank, key)."
    refuses(ValueError, words, linformer_attention, q, k, v, torch.randn(5, FEW), torch.randn(5, 6))


# linear_attention


def features(query: list[float], key: list[float]) -> float:
    positive = [[x + 1 if x > 0 else math.exp(x) for x in vector] for vector in (query, key)]
    return dot(*positive)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_against_a_loop(leading, causal):
    q, k, v = qkv(FEW if causal else 5, FEW, *leading)
    expected = by_loop(3 * q, 3 * k, v, features, lambda i, j: j <= i or not causal)
    torch.testing.assert_close(linear_attention(3 * q, 3 * k, v, causal), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_in_every_dtype(dtype, causal):
    q, k, v = qkv(FEW, FEW, dtype=dtype)
    found = linear_attention(q, k, v, causal)
    assert found.dtype == dtype
    expected = by_loop(q.double(), k.double(), v.double(), features, lambda i, j: j <= i or not causal)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=FLOATS[dtype])


@pytest.mark.parametrize("causal", [False, True])
def test_linear_attention_makes_no_matrix_of_all_pairs(causal):
    with Largest() as largest:
        linear_attention(*qkv(MANY, MANY), causal)
    assert largest.entries < MANY**2 / 4


@pytest.mark.parametrize(("function", "more"), [(linear_attention, ()), (tiled_attention, (3,))])
def test_causal_needs_as_many_queries_as_keys(function, more):
    words = f"{function.__name__}: causal is True, which needs query = key; here query is 5 and key is 7."
    refuses(ValueError, words, function, *qkv(5, FEW), *more, causal=True)


# tiled_attention


def whole(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    """All at once, in float64."""
    scores = q.double() @ k.double().transpose(-2, -1) / math.sqrt(q.shape[-1])
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -math.inf)
    return scores.softmax(-1) @ v.double(), scores.logsumexp(-1)


@pytest.mark.parametrize("block", [1, 2, 3, 7, 8, 100])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("leading", LEADING)
def test_tiles_are_exact(block, causal, leading):
    q, k, v = qkv(FEW if causal else 5, FEW, *leading)
    torch.testing.assert_close(tiled_attention(q, k, v, block, causal), whole(q, k, v, causal))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("causal", [False, True])
def test_tiles_in_every_dtype(dtype, causal):
    q, k, v = qkv(FEW, FEW, 2, dtype=dtype)
    for found, expected in zip(tiled_attention(q, k, v, 2, causal), whole(q, k, v, causal), strict=True):
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), expected, rtol=0, atol=2 * FLOATS[dtype])


@pytest.mark.parametrize("offset", [1e4, -1e4, 0.0])
@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("causal", [False, True])
def test_tiles_of_huge_scores(offset, block, causal):
    """Scores around ±10,000, and thousands apart from tile to tile, values and gradients."""
    q = torch.ones(FEW, 1)
    k = offset + 1000 * drawn(FEW, 1, seed=5, dtype=torch.float32)
    v = drawn(FEW, 3, seed=6, dtype=torch.float32)
    inputs = [t.requires_grad_() for t in (q, k, v)]
    found, expected = tiled_attention(*inputs, block, causal), whole(*inputs, causal)
    weights = drawn(FEW, 3, seed=7), drawn(FEW, seed=8)
    totals = [sum((w * r.double()).sum() for w, r in zip(weights, pair, strict=True)) for pair in (found, expected)]
    gradients = [torch.autograd.grad(total, inputs) for total in totals]
    for a, b in zip([*found, *gradients[0]], [*expected, *gradients[1]], strict=True):
        torch.testing.assert_close(a.double(), b.double(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_tiles_make_no_matrix_of_all_pairs(causal):
    with Largest() as largest:
        tiled_attention(*qkv(MANY, MANY), 16, causal)
    assert largest.entries < MANY**2 / 4


def test_two_halves_can_be_merged_from_what_is_returned():
    q, k, v = qkv(5, FEW, 2)
    (a, lse_a), (b, lse_b) = (tiled_attention(q, k[:, part], v[:, part], 2) for part in (slice(0, 3), slice(3, None)))
    share = torch.sigmoid(lse_a - lse_b).unsqueeze(-1)
    torch.testing.assert_close(share * a + (1 - share) * b, F.scaled_dot_product_attention(q, k, v))


def test_a_tile_has_at_least_one_key():
    words = "tiled_attention: block is 0, expected a positive integer."
    refuses(ValueError, words, tiled_attention, *qkv(5, FEW), 0)


# checkpointed


class Counted:
    """A function that counts its calls, and drops some entries at random."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Tensor, index: Tensor, scale: Tensor, unused: Tensor) -> Tensor:
        self.calls += 1
        kept = torch.rand(x.shape, dtype=x.dtype) > 0.3
        return (x * kept).sin()[index] * scale.exp()


def counted_inputs() -> tuple[Tensor, ...]:
    return (
        drawn(5, 3, seed=9).requires_grad_(),
        torch.tensor([4, 0, 4, 2]),
        drawn(3, seed=10),
        drawn(2, seed=11).requires_grad_(),
    )


def test_a_checkpoint_computes_twice_and_draws_the_same_numbers():
    towards, plain, counted = drawn(4, 3, seed=12), Counted(), Counted()
    torch.manual_seed(3)
    inputs = counted_inputs()
    expected = plain(*inputs)
    after_one_call = torch.get_rng_state()
    expected.backward(towards)
    wanted = inputs[0].grad

    torch.manual_seed(3)
    inputs = counted_inputs()
    found = checkpointed(counted, *inputs)
    assert torch.equal(torch.get_rng_state(), after_one_call)
    torch.rand(7)
    before = torch.get_rng_state()
    found.backward(towards)
    assert counted.calls == 2
    assert torch.equal(torch.get_rng_state(), before)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(inputs[0].grad, wanted)
    assert [x.grad is None for x in inputs] == [False, True, True, True]
    assert [x.requires_grad for x in inputs] == [True, False, False, True]


def test_a_checkpoint_that_needs_no_gradient_computes_once():
    inputs, counted = [x.detach() for x in counted_inputs()], Counted()
    assert not checkpointed(counted, *inputs).requires_grad
    with torch.no_grad():
        assert not checkpointed(counted, *counted_inputs()).requires_grad
    assert counted.calls == 2


def test_a_checkpoint_saves_its_inputs_alone():
    saved: list[Tensor] = []
    inputs = drawn(4, 5, seed=13).requires_grad_(), drawn(5, 6, seed=14).requires_grad_()
    with saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):  # type: ignore[func-returns-value]
        output = checkpointed(lambda a, b: (a @ b).tanh().exp().softmax(-1).sin(), *inputs)
    assert {x.data_ptr() for x in saved} == {x.data_ptr() for x in inputs}
    output.sum().backward()


def test_inputs_of_a_checkpoint_need_not_be_leaves_and_what_it_gives_can_go_on():
    x, y = drawn(4, seed=15).requires_grad_(), drawn(4, seed=16).requires_grad_()

    def chain(call) -> Tensor:
        first = call(lambda a, b: a * b.cos(), 2 * x, y)
        return call(lambda a, b: (a - b).tanh(), first, x).square().sum()

    found = torch.autograd.grad(chain(checkpointed), (x, y))
    expected = torch.autograd.grad(chain(lambda function, *inputs: function(*inputs)), (x, y))
    torch.testing.assert_close(found, expected)
    torch.autograd.gradcheck(lambda a, b: checkpointed(lambda a, b: (a * b).sin(), a, b), (x, y))


# cached_attention


def new_positions(new: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Six heads in two groups, a batch of 3, keys of width 4, values of width 5."""
    return drawn(3, 6, new, 4, seed=seed), drawn(3, 2, new, 4, seed=seed + 1), drawn(3, 2, new, 5, seed=seed + 2)


@pytest.mark.parametrize("steps", [(7,), (1,) * 7, (3, 4), (1, 5, 1), (2, 1, 1, 3)])
def test_a_cache_is_exact_in_whatever_steps_it_grows(steps):
    q, k, v = new_positions(7)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    cache, outputs, start = None, [], 0
    for step in steps:
        now = slice(start, start + step)
        output, cache = cached_attention(q[:, :, now], k[:, :, now], v[:, :, now], cache)
        outputs.append(output)
        start += step
    torch.testing.assert_close(torch.cat(outputs, dim=2), expected)
    assert cache is not None
    assert torch.equal(cache[0], k)
    assert torch.equal(cache[1], v)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_neighbouring_heads_share_a_group(groups):
    q, k, v = drawn(2, 6, 4, 3, seed=0), drawn(2, groups, 4, 3, seed=1), drawn(2, groups, 4, 5, seed=2)
    output, _ = cached_attention(q, k, v)
    for head in range(6):
        own = head // (6 // groups)
        alone, _ = cached_attention(q[:, head : head + 1], k[:, own : own + 1], v[:, own : own + 1])
        torch.testing.assert_close(output[:, head : head + 1], alone)


def test_an_empty_cache_is_no_cache():
    q, k, v = new_positions(3)
    empty = k.new_zeros(3, 2, 0, 4), v.new_zeros(3, 2, 0, 5)
    torch.testing.assert_close(cached_attention(q, k, v, empty), cached_attention(q, k, v))


def test_the_given_cache_is_not_changed():
    _, cache = cached_attention(*new_positions(4))
    before = [t.clone() for t in cache]
    cached_attention(*new_positions(2, seed=20), cache)
    assert all(torch.equal(a, b) for a, b in zip(cache, before, strict=True))


@pytest.mark.parametrize("dtype", FLOATS)
def test_cached_attention_in_every_dtype(dtype):
    q, k, v = (t.to(dtype) for t in new_positions(2))
    past = tuple(t.to(dtype) for t in new_positions(4, seed=20)[1:])
    output, cache = cached_attention(q, k, v, past)
    expected, _ = cached_attention(q.double(), k.double(), v.double(), tuple(t.double() for t in past))
    assert (output.dtype, cache[0].dtype, cache[1].dtype) == (dtype, dtype, dtype)
    torch.testing.assert_close(output.double(), expected, rtol=0, atol=FLOATS[dtype])


def test_groups_and_caches_that_do_not_fit_are_refused():
    q, k, v = new_positions(2)
    words = (
        "cached_attention: k has shape (3, 4, 2, 4), so group is 4, which does not divide head = 6. "
        "Use one of 1, 2, 3, 6."
    )
    refuses(ValueError, words, cached_attention, q, torch.randn(3, 4, 2, 4), v)
    words = (
        "cached_attention: cache[0] has shape (3, 6, 2, 4), so group = 6; expected group = 2, as k has it. "
        "cache[0] is (batch, group, past, d_k)."
    )
    refuses(ValueError, words, cached_attention, q, k, v, (q, v))
    words = "cached_attention: cache is a Tensor, expected a tuple of 2 tensors."
    refuses(TypeError, words, cached_attention, q, k, v, k)


# cache_bytes


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.bfloat16, torch.float64, torch.int8])
def test_cache_bytes_are_those_of_the_tensors(dtype):
    layers = [[torch.zeros(5, 2, 7, 12 // 6, dtype=dtype) for _ in range(2)] for _ in range(3)]
    expected = sum(t.untyped_storage().nbytes() for layer in layers for t in layer)
    found = cache_bytes(3, 6, 2, 12, 7, batch=5, dtype=dtype)
    assert type(found) is int
    assert found == expected


def test_a_cache_holds_float16_of_one_sequence_unless_said():
    assert cache_bytes(32, 32, 8, 4096, 8192) == 2**30
    assert cache_bytes(2, 4, 4, 64, 0) == 0


def test_groups_that_do_not_divide_the_heads_are_refused():
    words = "cache_bytes: n_groups is 4, which does not divide n_heads = 6. Use one of 1, 2, 3, 6."
    refuses(ValueError, words, cache_bytes, 3, 6, 4, 12, 7)


# What all of them promise

CALLS = {
    "window_attention": (lambda q, k, v: window_attention(q, k, v, 3, 2), lambda: qkv(FEW, FEW, 2)),
    "linformer_attention": (
        linformer_attention,
        lambda: (*qkv(5, FEW, 2), drawn(3, FEW, seed=3), drawn(3, FEW, seed=4)),
    ),
    "linear_attention": (linear_attention, lambda: qkv(5, FEW, 2)),
    "linear_attention, causal": (lambda q, k, v: linear_attention(q, k, v, True), lambda: qkv(FEW, FEW, 2)),
    "tiled_attention": (lambda q, k, v: tiled_attention(q, k, v, 3), lambda: qkv(5, FEW, 2)),
    "tiled_attention, causal": (lambda q, k, v: tiled_attention(q, k, v, 3, True), lambda: qkv(FEW, FEW, 2)),
    "cached_attention": (
        lambda q, k, v, past_k, past_v: cached_attention(q, k, v, (past_k, past_v))[0],
        lambda: (*new_positions(2), *new_positions(3, seed=20)[1:]),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_agree_with_finite_differences(name):
    function, make = CALLS[name]
    torch.autograd.gradcheck(function, tuple(a.requires_grad_() for a in make()))


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_left_as_they_were(name):
    function, make = CALLS[name]
    arguments = make()
    function(*arguments)
    for after, before in zip(arguments, make(), strict=True):
        assert torch.equal(after, before)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_made_on_another_device(name):
    function, make = CALLS[name]
    found = function(*(a.to("meta") for a in make()))
    assert all(t.device.type == "meta" for t in (found if isinstance(found, tuple) else [found]))


def test_a_single_position_looks_at_itself():
    q, k, v = drawn(1, 1, seed=0), drawn(1, 1, seed=1), drawn(1, 1, seed=2)
    one = torch.ones(1, 1, dtype=torch.float64)
    for output in (
        window_attention(q, k, v, 1),
        linformer_attention(q, k, v, one, one),
        linear_attention(q, k, v),
        linear_attention(q, k, v, True),
        tiled_attention(q, k, v, 1, True)[0],
        cached_attention(q[None, None], k[None, None], v[None, None])[0][0, 0],
    ):
        torch.testing.assert_close(output, v)
