"""Chapter 01's reference against torch, against plain loops, and against finite differences."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv.model.lookup import SelfAttention, similarity_scores, soft_lookup, softmax

FLOATS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
LEADING = [(), (2,), (2, 5)]


def drawn(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def database(*leading: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Three queries over four keys, d_k = 7, d_v = 6: every size differs from every other."""
    shapes = (3, 7), (4, 7), (4, 6)
    return tuple(drawn(*leading, *shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes))  # type: ignore


def softmax_by_loop(row: list[float]) -> list[float]:
    highest = max(row)
    powers = [math.exp(score - highest) for score in row]
    return [power / math.fsum(powers) for power in powers]


def lookup_by_loop(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One query at a time, one key at a time, in Python's own floats."""
    rows = []
    for query in q.tolist():
        weights = softmax_by_loop([math.fsum(a * b for a, b in zip(query, key, strict=True)) for key in k.tolist()])
        columns = zip(*v.tolist(), strict=True)
        rows.append([math.fsum(w * x for w, x in zip(weights, column, strict=True)) for column in columns])
    return torch.tensor(rows, dtype=torch.float64)


def refuses(error: type[Exception], words: str, function: object, *args: object) -> None:
    with pytest.raises(error, match=f"^{re.escape(words)}$"):
        function(*args)  # type: ignore[operator]


# softmax


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_along_every_dimension(dim, dtype):
    scores = 3 * drawn(2, 3, 5, seed=0)
    weights = softmax(scores.to(dtype), dim)
    assert weights.dtype == dtype
    expected = torch.softmax(scores.to(dtype).double(), dim)
    torch.testing.assert_close(weights.double(), expected, rtol=0, atol=FLOATS[dtype])


def test_softmax_of_one_row_against_a_loop():
    row = drawn(6, seed=1)
    expected = torch.tensor(softmax_by_loop(row.tolist()), dtype=torch.float64)
    torch.testing.assert_close(softmax(row, 0), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_huge_scores(dtype):
    scores = torch.tensor([[1e4, 1e4, -1e4], [-1e4, -1e4, -1e4], [0.0, 1e4, 0.0]], dtype=dtype)
    expected = torch.tensor([[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.0, 1.0, 0.0]], dtype=dtype)
    torch.testing.assert_close(softmax(scores, -1), expected, rtol=0, atol=FLOATS[dtype])


def test_minus_infinity_beside_finite_scores_weighs_exactly_nothing():
    scores = torch.tensor([[-math.inf, 2.0, 2.0], [1.0, -math.inf, -math.inf]], requires_grad=True)
    weights = softmax(scores, -1)
    assert weights.tolist() == [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    (gradient,) = torch.autograd.grad((weights * torch.tensor([1.0, 2.0, 4.0])).sum(), scores)
    torch.testing.assert_close(gradient, torch.tensor([[0.0, -0.5, 0.5], [0.0, 0.0, 0.0]]))


def test_softmax_does_not_change_when_a_row_is_shifted():
    scores = drawn(3, 5, seed=2)
    torch.testing.assert_close(softmax(scores + 1234.0, -1), softmax(scores, -1), rtol=0, atol=1e-12)


def test_softmax_of_a_single_score_is_one():
    assert softmax(torch.tensor([[7.0], [-3.0]]), -1).tolist() == [[1.0], [1.0]]


def test_softmax_refuses_integers():
    words = "softmax: scores is int64, expected a floating dtype. Use scores.float()."
    refuses(TypeError, words, softmax, torch.tensor([1, 2]), 0)


# similarity_scores


@pytest.mark.parametrize("leading", LEADING)
def test_every_score_is_one_dot_product(leading):
    q, k, _ = database(*leading)
    found = similarity_scores(q, k)
    assert found.shape == (*leading, 3, 4)
    for i in range(3):
        for j in range(4):
            torch.testing.assert_close(found[..., i, j], torch.linalg.vecdot(q[..., i, :], k[..., j, :]))


# soft_lookup


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("dtype", FLOATS)
def test_soft_lookup_is_torchs_attention_with_a_scale_of_one(leading, dtype):
    q, k, v = database(*leading, dtype=dtype)
    found = soft_lookup(q / 4, k, v)
    assert found.dtype == dtype
    expected = F.scaled_dot_product_attention((q / 4).double(), k.double(), v.double(), scale=1.0)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=2 * FLOATS[dtype])


def test_soft_lookup_against_a_loop():
    q, k, v = database()
    torch.testing.assert_close(soft_lookup(q, k, v), lookup_by_loop(q, k, v), rtol=1e-13, atol=1e-14)


def test_a_query_that_matches_all_keys_alike_gets_the_mean():
    _, k, v = database()
    torch.testing.assert_close(soft_lookup(torch.zeros(3, 7, dtype=torch.float64), k, v), v.mean(0).expand(3, 6))


def test_a_loud_query_gets_the_value_of_its_best_key():
    q, k, v = database()
    torch.testing.assert_close(soft_lookup(1000 * q, k, v), v[(q @ k.T).argmax(-1)])


def test_the_order_of_the_database_does_not_matter():
    q, k, v = database(2)
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(soft_lookup(q, k[:, order], v[:, order]), soft_lookup(q, k, v))


def test_soft_lookup_refuses_values_that_do_not_belong_to_the_keys():
    q, k, v = database()
    words = "soft_lookup: v has shape (3, 6), so key = 3; expected key = 4, as k has it. v is (..., key, d_v)."
    refuses(ValueError, words, soft_lookup, q, k, v[:3])
    words = "soft_lookup: k has shape (4, 5), so d_k = 5; expected d_k = 7, as q has it. k is (..., key, d_k)."
    refuses(ValueError, words, soft_lookup, q, k[:, :5], v)
    words = "similarity_scores: q has shape (7,), expected at least 2 dimensions: (..., query, d_k)."
    refuses(ValueError, words, similarity_scores, q[0], k)


# SelfAttention


@pytest.mark.parametrize("leading", LEADING)
def test_self_attention_is_a_lookup_of_a_sequence_in_itself(leading):
    module = SelfAttention(d_model=6, d_k=5, d_v=4).double()
    x = drawn(*leading, 3, 6, seed=3)
    q, k, v = (x @ p.weight.T for p in (module.q_proj, module.k_proj, module.v_proj))
    expected = F.scaled_dot_product_attention(q, k, v, scale=1.0)
    assert expected.shape == (*leading, 3, 4)
    torch.testing.assert_close(module(x), expected)


def test_self_attention_has_three_matrices_and_no_bias():
    shapes = {name: tuple(p.shape) for name, p in SelfAttention(6, 5, 4).named_parameters()}
    assert shapes == {"q_proj.weight": (5, 6), "k_proj.weight": (5, 6), "v_proj.weight": (4, 6)}


def test_self_attention_refuses_a_width_that_it_was_not_built_with():
    words = (
        "SelfAttention: x has shape (3, 7), so d_model = 7; expected d_model = 6, which it was built with. "
        "x is (..., seq, d_model)."
    )
    refuses(ValueError, words, SelfAttention(6, 5, 4), torch.randn(3, 7))
    refuses(ValueError, "SelfAttention: d_k is 0, expected a positive integer.", SelfAttention, 6, 0, 4)


# What all of them promise


CALLS = {
    "softmax": (lambda scores: softmax(scores, -1), lambda: (drawn(2, 3, 5, seed=4),)),
    "similarity_scores": (similarity_scores, lambda: database(2)[:2]),
    "soft_lookup": (soft_lookup, lambda: database(2)),
    "SelfAttention": (SelfAttention(6, 5, 4).double(), lambda: (drawn(2, 3, 6, seed=5),)),
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
    if isinstance(function, torch.nn.Module):
        function = SelfAttention(6, 5, 4).to("meta").double()
    result = function(*(a.to("meta") for a in make()))
    assert result.device.type == "meta"
