"""Chapter 01: what a student reads who makes two mistakes at once, under any salt."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from proctor import Examiner
from qkv.exercises import get_code


def naive_softmax(scores: Tensor, dim: int) -> Tensor:
    return scores.exp() / scores.exp().sum()


def two_dimensions_lost(scores: Tensor, dim: int) -> Tensor:
    powers = (scores - scores.max(dim).values).exp()
    return powers / powers.sum(dim)


def scaled_over_queries(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-2) @ v


def cosines_without_softmax(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k = (t / t.norm(dim=-1, keepdim=True) for t in (q, k))
    return q @ k.mT @ v


@pytest.mark.parametrize("salt", ["", "another"])
@pytest.mark.parametrize(
    ("exercise", "answer", "mistakes"),
    [
        ("softmax", naive_softmax, {"overflows", "normalised_over_everything"}),
        ("softmax", two_dimensions_lost, {"maximum_without_keepdim", "sum_without_keepdim"}),
        ("soft_lookup", scaled_over_queries, {"softmax_over_queries", "scaled_scores"}),
        ("soft_lookup", cosines_without_softmax, {"no_softmax", "cosine_scores"}),
    ],
)
def test_two_mistakes_are_both_named(exercise, answer, mistakes, salt):
    result = Examiner(get_code(exercise), salt).examine(answer)
    assert result.state == "not_yet"
    assert set(result.misconceptions) == mistakes
    assert len(result.explanations) >= 2  # a third says where it raised an exception, if it did


def test_the_message_of_a_naive_softmax():
    assert Examiner(get_code("softmax")).examine(naive_softmax).message.splitlines()[:3] == [
        "softmax: not yet (3 of 20 checks pass)",
        "You exponentiate the scores as they are, and large scores overflow.",
        "You divide by the sum over the whole tensor, so all weights together sum to 1.",
    ]


def softmax_of_matrices(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.mm(torch.mm(q, k.t()).softmax(1), v)


def keys_dot_t(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.T


@pytest.mark.parametrize("salt", ["", "another"])
@pytest.mark.parametrize(
    ("exercise", "answer", "mistake"),
    [
        ("similarity_scores", lambda q, k: torch.bmm(q, k.mT), "for_one_batch_dimension"),
        ("similarity_scores", lambda q, k: torch.einsum("bqd,bkd->bqk", q, k), "for_one_batch_dimension"),
        ("similarity_scores", lambda q, k: q @ k.transpose(1, 2), "for_one_batch_dimension"),
        ("similarity_scores", lambda q, k: torch.einsum("qd,kd->qk", q, k), "for_no_batch_dimension"),
        ("similarity_scores", lambda q, k: q @ k.transpose(2, 3), "for_two_batch_dimensions"),
        ("similarity_scores", keys_dot_t, "the_batch_turned_too"),
        ("soft_lookup", lambda q, k, v: torch.bmm(torch.bmm(q, k.mT).softmax(2), v), "lookup_for_one_batch_dimension"),
        ("soft_lookup", softmax_of_matrices, "lookup_for_no_batch_dimension"),
        ("soft_lookup", lambda q, k, v: (q @ k.mT).softmax(1) @ v, "softmax_over_dimension_one"),
        ("soft_lookup", lambda q, k, v: (q @ k.mT).softmax(2) @ v, "softmax_over_dimension_two"),
    ],
)
def test_code_for_one_number_of_dimensions_is_named_however_it_fails(exercise, answer, mistake, salt):
    assert Examiner(get_code(exercise), salt).examine(answer).misconceptions == (mistake,)


def test_a_dtype_that_is_not_kept_is_called_so():
    right = get_code("softmax").reference
    result = Examiner(get_code("softmax")).examine(lambda scores, dim: right(scores.float(), dim))
    assert result.probes - result.probes_passed == 3
    assert "Your code does not keep the dtype" in result.message
