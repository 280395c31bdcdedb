"""Chapter 08: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "transformer/wrong/near_misses/embed": "root_of_the_vocabulary",
    "transformer/wrong/positions_from_one/shift_right": "end_kept_instead",
    "transformer/wrong/forgotten_return/shift_right": "start_missing",
    "transformer/wrong/always_float32/shift_right": "ids_as_floats",
    "transformer/wrong/mask_transposed/Transformer": "OnlyTheFutureVisible",
    "transformer/wrong/last_position_only/Transformer": "LastPositionOnly",
    "transformer/wrong/output_scaled/Transformer": "OutputScaled",
    "transformer/wrong/annotated/greedy_decode": "never_stops + one_too_short",
    "transformer/wrong/asks_without_bos/greedy_decode": "start_left_out_of_the_prefix",
    "transformer/wrong/enough_is_enough/greedy_decode": "end_dropped",
    "transformer/wrong/every_beam_its_own/beam_search": "width_for_each",
    "transformer/wrong/annotated/beam_search": "finished_stay_in_the_beam",
    "transformer/wrong/enough_is_enough/beam_search": "stopped_when_enough_are_complete",
}
SENTENCES = {
    "transformer/wrong/enough_is_enough/embed": "Your code changes a tensor that it was given.",
    "transformer/wrong/annotated/shift_right": "Your code changes a tensor that it was given.",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


@pytest.mark.parametrize(("answer", "sentence"), SENTENCES.items())
def test_what_is_said_is_true_of_the_code(told, answer, sentence):
    assert told(answer).message.splitlines()[1].startswith(sentence)
