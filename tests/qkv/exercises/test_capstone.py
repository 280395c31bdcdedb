"""Chapter 19: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "capstone/wrong/no_order/RotaryAttention": "NotTurned",
    "capstone/wrong/positions_of_heads/RotaryAttention": "NotTurned",
    "capstone/wrong/everything_turned/RotaryAttention": "ValuesTurned",
    "capstone/wrong/wide_then_split/RotaryAttention": "TurnedBeforeTheSplit",
    "capstone/wrong/as_llama_does/RotaryAttention": "HalvesForPairs",
    "capstone/wrong/of_the_model_width/RotaryAttention": "FrequenciesOfTheWholeWidth",
    "capstone/wrong/mask_as_given/RotaryAttention": "MaskMeetsTheHeads",
    "capstone/wrong/sees_the_future/TinyGPT": "FutureVisible",
    "capstone/wrong/as_in_2017/TinyGPT": "PostNorm",
    "capstone/wrong/tied/TinyGPT": "OutputTied",
    "capstone/wrong/tied_in_earnest/TinyGPT": "OutputTied",
    "capstone/wrong/enlarged/TinyGPT": "EmbeddingsEnlarged",
    "capstone/wrong/places_added/TinyGPT": "PositionsAdded",
    "capstone/wrong/no_order/next_token_loss": "not_shifted",
    "capstone/wrong/queries_only/next_token_loss": "zero_for_padding",
    "capstone/wrong/keys_only/next_token_loss": "one_of_the_padding",
    "capstone/wrong/root_of_the_model/next_token_loss": "softmax_before_the_loss",
    "capstone/wrong/reshaped_in_one_go/next_token_loss": "the_whole_row_read",
    "capstone/wrong/sees_the_future/write_story": "all_of_it",
    "capstone/wrong/attention_replaces/write_story": "stopped_by_the_prompt",
    "capstone/wrong/no_network/write_story": "never_by_chance",
    "capstone/wrong/probabilities/write_story": "zero_taken_for_one",
    "capstone/wrong/top_down/write_story": "prompt_cut_once",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


def test_an_answer_that_changes_the_prompt_hears_of_its_own_list(told):
    assert "caller's own list" in told("capstone/wrong/tied_in_earnest/write_story").message
