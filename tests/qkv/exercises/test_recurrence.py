"""Chapter 10: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "recurrence/wrong/biases/rnn_step": "bias_twice",
    "recurrence/wrong/relu/rnn_step": "rectified",
    "recurrence/wrong/batch_only/rnn_step": "one_batch_only",
    "recurrence/wrong/gates_of_tensorflow/rnn_step": "matrices_only",
    "recurrence/wrong/gates_of_tensorflow/lstm_step": "candidate_before_forget + forget_bias_added",
    "recurrence/wrong/interleaved_gates/lstm_step": "every_fourth_column",
    "recurrence/wrong/global_draws/delayed_copy": "drawn_from_torchs_own",
    "recurrence/wrong/dimension_one/delayed_copy": "inputs_and_targets_exchanged",
    "recurrence/wrong/along_the_batch/delayed_copy": "shifted_along_the_batch",
    "recurrence/wrong/gates_of_tensorflow/gradient_by_distance": "one_factor_too_many",
    "recurrence/wrong/norms_multiplied/gradient_by_distance": "norms_multiplied",
    "recurrence/wrong/strides/receptive_field": "dilations_for_strides",
    "recurrence/wrong/off_by_one/receptive_field": "itself_in_every_layer",
    "recurrence/wrong/both_sides/receptive_field": "half_a_kernel_on_each_side",
    "recurrence/wrong/off_by_one/path_length": "one_layer_too_many",
    "recurrence/wrong/attention_by_layers/path_length": "attention_as_a_tree",
    "recurrence/wrong/both_sides/path_length": "half_a_kernel_at_a_time",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


def test_an_input_overwritten_where_shapes_allow_it_is_seen(told):
    result = told("recurrence/wrong/dimension_one/rnn_step")
    assert result.message.splitlines()[1].startswith("Your code changes a tensor that it was given.")
