"""Chapter 11: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "cost/wrong/cut_graph/layer_flops": "the_way_back_as_well",
    "cost/wrong/base_two/layer_flops": "one_projection + one_layer_of_two",
    "cost/wrong/all_pairs/window_attention": "every_pair",
    "cost/wrong/starts_at_zero/window_attention": "first_key_again_and_again",
    "cost/wrong/another_window/linformer_attention": "exchanged",
    "cost/wrong/blocks_of_the_text/linear_attention": "divisor_of_all_keys",
    "cost/wrong/all_pairs/linear_attention": "pair_by_pair",
    "cost/wrong/all_pairs/tiled_attention": "one_matrix",
    "cost/wrong/starts_at_zero/tiled_attention": "maximum_from_zero",
    "cost/wrong/all_pairs/checkpointed": "just_called",
    "cost/wrong/floats_only/checkpointed": "every_input_marked",
    "cost/wrong/another_window/cached_attention": "groups_dealt_out",
    "cost/wrong/all_pairs/cached_attention": "kept_for_each_head",
    "cost/wrong/unstable/cache_bytes": "two_bytes_always",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


@pytest.mark.parametrize("which", ["library", "library_as_of_old"])
def test_torchs_own_checkpoint_is_noticed_under_either_kind_and_any_name(told, which):
    result = told(f"cost/wrong/{which}/checkpointed")
    assert result.score == 0
    assert "You call torch.utils.checkpoint, which this exercise asks you to do without." in result.message


def test_whoever_makes_the_matrix_reads_what_is_wrong_with_it(told):
    message = told("cost/wrong/all_pairs/tiled_attention").message
    assert "Your values are right, but you make all scores at once." in message
    assert "At 10,000 positions the whole matrix has 400 MB." in message


def test_a_cache_that_is_written_into_is_seen_inside_its_pair(told):
    message = told("cost/wrong/writes_into_inputs/cached_attention").message
    assert "Your code changes a tensor that it was given." in message
