"""Chapter 09: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "training/wrong/epsilon_hat/noam_rate": "scaled_to_its_peak",
    "training/wrong/parentheses/noam_rate": "peak_of_one",
    "training/wrong/only_falling/noam_rate": "without_a_warm_up",
    "training/wrong/epsilon_hat/adam_step": "eps_before_the_correction",
    "training/wrong/parentheses/adam_step": "eps_subtracted_at_the_end",
    "training/wrong/corrected_m_only/adam_step": "second_moment_not_corrected",
    "training/wrong/old_moments/adam_step": "means_of_the_step_before",
    "training/wrong/epsilon_hat/label_smoothing_loss": "added_to_every_class_without_epsilon",
    "training/wrong/parentheses/label_smoothing_loss": "one_class_too_few",
    "training/wrong/a_share_of_a_share/label_smoothing_loss": "too_little_taken",
    "training/wrong/no_index_ignored/label_smoothing_loss": "nothing_ignored",
    "training/wrong/last_batch_dropped/accumulate_gradients": "last_batch_left_out",
    "training/wrong/epsilon_hat/clip_gradients": "each_by_itself + length_of_the_last",
    "training/wrong/library/clip_gradients": "epsilon_added",
    "training/wrong/epsilon_hat/scaled_backward": "added_to_what_was_there",
    "training/wrong/parentheses/scaled_backward": "doubled_one_step_late",
    "training/wrong/nan_only/scaled_backward": "only_nan_noticed",
}
SENTENCES = {
    "training/wrong/a_share_of_a_share/accumulate_gradients": "Your code changes the model's parameters.",
    "training/wrong/in_place/clip_gradients": "Your code changes a tensor that it was given.",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


@pytest.mark.parametrize(("answer", "sentence"), SENTENCES.items())
def test_what_is_said_is_true_of_the_code(told, answer, sentence):
    assert told(answer).message.splitlines()[1].startswith(sentence)
