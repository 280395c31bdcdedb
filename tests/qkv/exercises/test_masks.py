"""Chapter 05: what a student reads who makes two mistakes at once, under any salt."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from proctor import Examiner
from qkv.exercises import find


def printed_in_a_common_text(n: int) -> Tensor:
    return torch.zeros(n, n).masked_fill(torch.ones(n, n).tril(-1).bool(), -math.inf)


def flat_and_reversed(lengths: Tensor, length: int) -> Tensor:
    return torch.arange(length, device=lengths.device) >= lengths[:, None]


def filled_where_allowed(scores: Tensor, mask: Tensor) -> Tensor:
    hidden = scores.masked_fill(mask, -math.inf)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def features_one_too_many(x: Tensor, lengths: Tensor) -> Tensor:
    return x * (torch.arange(x.shape[2], device=x.device) < lengths[:, None] + 1)[:, None]


def itself_without_mask(decoder, memory, attend, memory_mask=None):
    return attend(decoder, decoder, decoder, None)


def sum_of_everything(x: Tensor, lengths: Tensor) -> Tensor:
    return x.sum(1)


@pytest.mark.parametrize("salt", ["", "another"])
@pytest.mark.parametrize(
    ("exercise", "answer", "mistakes"),
    [
        ("causal_mask", printed_in_a_common_text, {"future_shown", "numbers_to_add"}),
        ("padding_mask", flat_and_reversed, {"true_for_padding", "no_place_for_queries"}),
        ("masked_softmax", filled_where_allowed, {"polarity_reversed", "closed_rows_become_nan"}),
        ("zero_padding", features_one_too_many, {"features_zeroed", "one_padding_kept"}),
        ("cross_attention", itself_without_mask, {"self_attention_again", "mask_forgotten"}),
        ("masked_mean", sum_of_everything, {"not_zeroed", "summed_only"}),
    ],
)
def test_two_mistakes_are_both_named(exercise, answer, mistakes, salt):
    result = Examiner(find(exercise), salt).examine(answer)
    assert result.state == "not_yet"
    assert result.misconception is not None
    assert set(result.misconception.split(" + ")) == mistakes
    assert len(result.explanations) == 2


def test_the_message_of_the_mask_that_a_common_text_prints():
    assert Examiner(find("causal_mask")).examine(printed_in_a_common_text).message.splitlines()[:3] == [
        "causal_mask: not yet (0 of 4 probes agree)",
        "Your mask is the other triangle: it hides the past and shows the future.",
        "You return numbers to be added to the scores, 0 and -inf.",
    ]
