"""Chapter 14: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "meaning/wrong/itself_too/skip_gram_pairs": "paired_with_itself",
    "meaning/wrong/off_by_one/skip_gram_pairs": "last_neighbour_missing",
    "meaning/wrong/equal_ones/skip_gram_pairs": "equal_words_left_out",
    "meaning/wrong/nearly/skip_gram_pairs": "around_the_beginning",
    "meaning/wrong/other_defaults/skip_gram_pairs": "nothing_as_floats",
    "meaning/wrong/crashes/negative_samples": "never_the_same_twice",
    "meaning/wrong/nearly/negative_samples": "from_torchs_own_generator",
    "meaning/wrong/nearly_too/negative_samples": "one_at_a_time",
    "meaning/wrong/library_again/negative_samples": "by_another_call",
    "meaning/wrong/averaged/negative_sampling_loss": "negatives_averaged",
    "meaning/wrong/unstable/negative_sampling_loss": "logarithm_of_zero",
    "meaning/wrong/library/negative_sampling_loss": "one_choice_among_all",
    "meaning/wrong/library_again/negative_sampling_loss": "averaged_over_all_questions",
    "meaning/wrong/summed/negative_sampling_gradient": "gradient_of_a_sum",
    "meaning/wrong/library/negative_sampling_gradient": "left_to_autograd",
    "meaning/wrong/library_again/negative_sampling_gradient": "left_to_torch_func",
    "meaning/wrong/confused_words/negative_sampling_gradient": "along_the_context + along_the_negatives",
    "meaning/wrong/itself_too/analogy": "question_words_too",
    "meaning/wrong/confused_words/analogy": "numbered_anew",
    "meaning/wrong/nearly/analogy": "question_words_last",
    "meaning/wrong/unstable_sort/analogy": "sort_not_stable",
    "meaning/wrong/library/analogy": "step_made_before_scaling",
    "meaning/wrong/one_part/linear_probe": "through_the_origin",
    "meaning/wrong/library/linear_probe": "intercept_penalised",
    "meaning/wrong/library_again/linear_probe": "ridge_squared",
    "meaning/wrong/nearly/linear_probe": "test_not_moved",
    "meaning/wrong/reversed_order/attention_rollout": "first_on_the_left",
    "meaning/wrong/equal_ones/attention_rollout": "heads_followed_apart",
    "meaning/wrong/nearly/attention_rollout": "residual_once",
    "meaning/wrong/second_dimension/attention_rollout": "second_dimension_averaged",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


@pytest.mark.parametrize("file", ["library", "library_again", "autograd_again", "forward_mode", "forward_mode_again"])
def test_a_gradient_that_is_not_made_by_hand_earns_nothing(told, file):
    assert told(f"meaning/wrong/{file}/negative_sampling_gradient").score == 0
