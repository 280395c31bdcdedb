"""Chapter 15: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "theory/wrong/first_found/hard_attention": "first_of_equals",
    "theory/wrong/sums/hard_attention": "one_for_each",
    "theory/wrong/finite_minus/hard_attention": "hidden_at_a_finite_score",
    "theory/wrong/softmax_of_it/hard_attention": "softmax_with_a_large_beta",
    "theory/wrong/near_misses/hard_attention": "hidden_keys_share",
    "theory/wrong/two_mistakes/hard_attention": "mask_the_other_way + one_for_each",
    "theory/wrong/nothing_found/select_aggregate": "patched_afterwards",
    "theory/wrong/the_other_way/select_aggregate": "key_before_query",
    "theory/wrong/arguments_ignored/select_aggregate": "always_zero_where_none",
    "theory/wrong/finite_minus/bracket_state": "loss_forgiven",
    "theory/wrong/nothing_found/bracket_state": "closing_nothing_ignored",
    "theory/wrong/future_seen/bracket_state": "lost_before_it_happens",
    "theory/wrong/other_axis/offset_head": "looks_ahead",
    "theory/wrong/sums/offset_head": "beta_in_both",
    "theory/wrong/exchanged/offset_head": "joined_across_the_halves",
    "theory/wrong/the_other_way/boolean_ffn": "lowest_bit_first",
    "theory/wrong/softmax_of_it/boolean_ffn": "half_is_left",
    "theory/wrong/future_seen/boolean_ffn": "made_for_minus_one",
    "theory/wrong/first_found/induction_head": "latest_match_alone",
    "theory/wrong/off_by_one/induction_head": "neighbour_left_out",
    "theory/wrong/future_seen/induction_head": "future_matched_too",
    "theory/wrong/two_mistakes/induction_head": "future_matched_too + counted_votes",
    "theory/wrong/sums/rank_residual": "root_forgotten",
    "theory/wrong/softmax_of_it/rank_residual": "largest_singular_value",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


def test_torchs_fused_attention_is_noticed(told):
    result = told("theory/wrong/attention_of_old/hard_attention")
    assert result.score == 0
    assert "which this exercise asks you to do without" in result.message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("theory/wrong/other_shapes/offset_head", "w_q has shape"),
        ("theory/wrong/other_shapes/boolean_ffn", "down of table 0: yours has shape (8, 1), expected (8,)."),
        ("theory/wrong/always_float32/offset_head", "w_q is float64, expected float32"),
    ],
)
def test_of_weights_that_are_right_in_many_forms_shape_and_dtype_are_fixed(told, answer, words):
    message = told(answer).message
    assert words in message
    assert "in another shape" not in message  # whether their numbers are right is not known
