"""Chapter 17: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "today/wrong/exchanged/SwiGLU": "GateAndUpExchanged",
    "today/wrong/nan_backwards/SwiGLU": "GradientNotANumber",
    "today/wrong/by_exponentials/SwiGLU": "ExponentialOverflows",
    "today/wrong/norm_last/GroupedAttention": "TurnedBeforeTheNorm",
    "today/wrong/positions_again_from_zero/GroupedAttention": "PositionsFromZero",
    "today/wrong/plain_keys_kept/GroupedAttention": "PlainKeysKept",
    "today/wrong/halves_as_pairs/GroupedAttention": "HalvesForPairs",
    "today/wrong/enlarged/Llama": "EmbeddingScaled",
    "today/wrong/no_residual/Llama": "AttentionReplaces + NetworkReplaces",
    "today/wrong/one_cache/Llama": "FirstCacheForAll",
    "today/wrong/tied_in_earnest/Llama": "TiedAlways",
    "today/wrong/radians_for_turns/stretched_frequencies": "radians_counted",
    "today/wrong/larger_base/stretched_frequencies": "another_base",
    "today/wrong/as_in_switch/route_tokens": "first_choice_counted",
    "today/wrong/kept_as_they_are/route_tokens": "not_renormalised",
    "today/wrong/held_weights/route_tokens": "weights_held",
    "today/wrong/cut_graph/route_tokens": "mean_held",
    "today/wrong/written_out/latent_attention": "written_out",
    "today/wrong/head_by_head/latent_attention": "written_out",
    "today/wrong/content_alone/latent_attention": "turned_part_forgotten + by_the_first_part",
    "today/wrong/from_p_again/accept_drafts": "from_p_again",
    "today/wrong/by_p_alone/accept_drafts": "with_probability_p",
    "today/wrong/drawn_one_by_one/accept_drafts": "drawn_when_needed",
    "today/wrong/half_up/quantize_groups": "halves_up",
    "today/wrong/columns_grouped/quantize_groups": "along_columns",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


@pytest.mark.parametrize(
    ("answer", "thing"),
    [
        ("library_as_a_module/SwiGLU", "torch's own SiLU"),
        ("library_under_another_name/SwiGLU", "torch's own SiLU"),
        ("library/quantize_groups", "torch's own quantisation"),
        ("library_under_another_name/quantize_groups", "torch's own quantisation"),
        ("library/latent_attention", "torch's fused attention"),
    ],
)
def test_torchs_own_version_is_noticed_under_any_name(told, answer, thing):
    result = told(f"today/wrong/{answer}")
    assert result.score == 0
    assert f"You call {thing}, which this exercise asks you to do without." in result.message


def test_codes_divided_in_sixteen_bits_are_too_coarse(told):
    assert "Your codes are too coarse" in told("today/wrong/sixteen_bits/quantize_groups").message


def test_angles_made_in_sixteen_bits_are_wrong_far_on(told):
    assert "your turns are wrong far on in a text" in told("today/wrong/sixteen_bits/GroupedAttention").message


def test_speeds_are_not_saved_with_the_weights(told):
    assert "Published files have no `frequencies`" in told("today/wrong/saved_with_the_weights/Llama").message
