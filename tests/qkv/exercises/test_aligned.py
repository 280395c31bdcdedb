"""The chapter on what follows pre-training: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "aligned/wrong/mask_of_the_reader/answer_loss": "mask_not_shifted",
    "aligned/wrong/mean_of_means/answer_loss": "over_texts",
    "aligned/wrong/rolled/answer_loss": "round_the_corner",
    "aligned/wrong/without_the_end/answer_loss": "end_left_out",
    "aligned/wrong/summed_or_averaged/sequence_log_probability": "nothing_divided_by_nothing",
    "aligned/wrong/signs/sequence_log_probability": "surprise_returned",
    "aligned/wrong/library/bradley_terry_loss": "sigmoid_before_the_logarithm",
    "aligned/wrong/number_of_texts/bradley_terry_loss": "over_answers",
    "aligned/wrong/other_way_round/dpo_loss": "rejected_less_chosen",
    "aligned/wrong/reference_moves/dpo_loss": "reference_trained",
    "aligned/wrong/number_of_texts/group_advantages": "one_less",
    "aligned/wrong/mean_of_means/group_advantages": "mean_of_everything + spread_of_everything",
    "aligned/wrong/floats_only/group_advantages": "floats_only",
    "aligned/wrong/never_cut/clipped_loss": "always_cut",
    "aligned/wrong/nan_on_the_way_back/clipped_loss": "replaced_after_the_exponential",
    "aligned/wrong/other_way_round/clipped_loss": "ratio_turned_round + penalty_turned_round",
    "aligned/wrong/as_of_ppo/pass_at_k": "drawn_with_return",
    "aligned/wrong/whole_numbers/pass_at_k": "certain_with_any",
    "aligned/wrong/falsy/majority_vote": "false_answers_dropped",
    "aligned/wrong/weights_of_others/majority_vote": "weights_in_another_order",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


def test_a_gradient_that_reaches_the_reference_is_said_to(told):
    assert "A gradient reaches more than `new`." in told("aligned/wrong/reference_moves/clipped_loss").message


def test_a_count_in_float32_has_too_few_digits(told):
    result = told("aligned/wrong/half/pass_at_k")
    assert result.state == "not_yet"
    assert result.misconceptions == ()
