"""Chapter 05: what a student reads of mistakes that are often copied, alone and two at once, under any salt."""

from __future__ import annotations

import math
import runpy
from pathlib import Path

import pytest
import torch
from torch import Tensor

from proctor import Examiner
from qkv.exercises import get_code

WRONG = Path(__file__).parents[3] / "answers" / "masks" / "wrong"


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
    result = Examiner(get_code(exercise), salt).examine(answer)
    assert result.state == "not_yet"
    assert set(result.misconceptions) == mistakes
    assert len(result.explanations) == 2


def test_the_message_of_the_mask_that_a_common_text_prints():
    assert Examiner(get_code("causal_mask")).examine(printed_in_a_common_text).message.splitlines()[:3] == [
        "causal_mask: not yet (0 of 5 checks pass)",
        "Your mask is the other triangle: it hides the past and shows the future.",
        "You return numbers to be added to the scores, 0 and -inf.",
    ]


@pytest.mark.parametrize("salt", ["", "another"])
@pytest.mark.parametrize(
    ("exercise", "answer", "mistake"),
    [
        ("causal_mask", "minus_a_billion_filled", "bytes_for_bools"),
        ("causal_mask", "negated", "whole_numbers"),
        ("causal_mask", "filled_with_ten_thousand", "one_dimension_too_many"),
        ("causal_mask", "minus_ten_thousand", "large_numbers_to_add"),
        ("padding_mask", "renormalised", "a_place_for_heads_too"),
        ("padding_mask", "square", "queries_hidden_as_well"),
        ("combine_masks", "none_in_the_way", "none_ends_the_list"),
        ("combine_masks", "none_combined", "none_not_skipped"),
        ("combine_masks", "stacked", "one_shape_only"),
        ("masked_softmax", "minus_ten_thousand", "ten_thousand_added"),
        ("masked_softmax", "minus_a_billion_added", "a_billion_added"),
        ("masked_softmax", "minus_a_billion_filled", "a_large_number_for_infinity"),
        ("masked_softmax", "filled_with_ten_thousand", "ten_thousand_for_infinity"),
        ("masked_softmax", "multiplied_and_renormalised", "multiplied_and_renormalised"),
        ("masked_softmax", "renormalised", "renormalised_afterwards"),
        ("masked_softmax", "renormalised_to_nan", "replaced_and_renormalised_to_nan"),
        ("masked_softmax", "infinity_added", "closed_rows_become_nan_backwards_too"),
        ("masked_softmax", "three_dimensions", "only_with_three_dimensions"),
        ("masked_softmax", "written_into_the_scores", "hidden_in_place"),
        ("zero_padding", "square", "cut_off_after_the_longest"),
        ("cross_attention", "none_combined", "query_last"),
        ("cross_attention", "unmasked_when_none", "mask_only_if_there_is_one"),
        ("masked_mean", "renormalised", "count_of_the_whole_batch"),
        ("masked_mean", "renormalised_to_nan", "one_mean_for_the_whole_batch"),
        ("masked_mean", "unstable", "the_same_mean_for_every_sequence"),
        ("masked_mean", "cut_graph", "no_gradient_for_vectors"),
    ],
)
def test_a_mistake_that_is_often_copied_has_a_name(exercise, answer, mistake, salt):
    code = runpy.run_path(str(WRONG / f"{answer}.py"))[exercise]
    assert Examiner(get_code(exercise), salt).examine(code).misconceptions == (mistake,)


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        ("masked_softmax", "fails_in_float16", "Your code raised RuntimeError at fails_in_float16.py, line 7"),
        ("masked_mean", "fails_in_float16", "With float16 inputs the dtype of your result is right, but its numbers"),
        ("zero_padding", "fails_in_float16", "With bfloat16 inputs the dtype of your result is right, but its numbers"),
        ("masked_softmax", "only_with_gradients", "Under `torch.no_grad()` your code gives other numbers."),
        ("combine_masks", "writes_into_the_last", "Your code changes a tensor that it was given."),
        ("masked_softmax", "library", "You call torch's fused attention, which this exercise asks you to do without."),
    ],
)
def test_what_is_said_of_an_answer_whose_values_are_right(exercise, answer, sentence):
    code = runpy.run_path(str(WRONG / f"{answer}.py"))[exercise]
    assert Examiner(get_code(exercise)).examine(code).message.splitlines()[1].startswith(sentence)


def test_masks_in_place_of_torchs_softmax_may_use_it():
    def masked_softmax(scores, mask):
        return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)

    assert Examiner(get_code("masked_softmax")).examine(masked_softmax).state == "passed"
