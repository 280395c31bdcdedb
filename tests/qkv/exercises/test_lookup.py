"""Chapter 01: what a student reads who makes two mistakes at once, under any salt."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from proctor import Examiner
from qkv.exercises import find


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
    result = Examiner(find(exercise), salt).examine(answer)
    assert result.state == "not_yet"
    assert result.misconception is not None
    assert set(result.misconception.split(" + ")) == mistakes
    assert len(result.explanations) == 2


def test_the_message_of_a_naive_softmax():
    assert Examiner(find("softmax")).examine(naive_softmax).message.splitlines()[:3] == [
        "softmax: not yet (3 of 15 probes agree)",
        "You exponentiate the scores as they are, and large scores overflow.",
        "You divide by the sum over the whole tensor, so all weights together sum to 1.",
    ]
