"""Chapter 07: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "blocks/wrong/near_misses/gelu": "divided_by_two_inside",
    "blocks/wrong/relu_written_in/FeedForward": "AlwaysReLU",
    "blocks/wrong/norm_inside/FeedForward": "AlwaysReLU + NormalisedInside",
    "blocks/wrong/bias_forgotten/FeedForward": "BiasesForgotten",
    "blocks/wrong/from_the_global_generator/dropout": "drawn_from_torchs_own",
    "blocks/wrong/keep_probability/dropout": "p_for_keeping",
    "blocks/wrong/identity_at_one/dropout": "all_kept_at_one",
    "blocks/wrong/near_misses/dropout": "kept_above_p_only",
    "blocks/wrong/mean_of_this_draw/dropout": "enlarged_by_what_survived",
    "blocks/wrong/norm_inside/EncoderLayer": "SideBySideWithOneNorm",
    "blocks/wrong/relu_written_in/EncoderLayer": "ReLUInside",
    "blocks/wrong/approximate_inside/EncoderLayer": "TanhInside",
    "blocks/wrong/norms_exchanged/EncoderLayer": "NormsExchanged",
    "blocks/wrong/relu_written_in/DecoderLayer": "ReLUInTheDecoder",
    "blocks/wrong/masks_exchanged/DecoderLayer": "MasksExchanged",
    "blocks/wrong/attention_shared/DecoderLayer": "OneAttentionTwice",
}
SENTENCES = {
    "blocks/wrong/approximate_inside/DecoderLayer": "On vectors that hardly vary, where eps decides",
    "blocks/wrong/a_batch_of_sequences_only/DecoderLayer": "Your code changes a tensor that it was given.",
    "blocks/wrong/writes_into_inputs/gelu": "Your code changes a tensor that it was given.",
    "blocks/wrong/writes_into_inputs/EncoderLayer": "Your code changes a tensor that it was given.",
    "blocks/wrong/sixteen_bits/gelu": "Your code raised RuntimeError",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


@pytest.mark.parametrize(("answer", "sentence"), SENTENCES.items())
def test_what_is_said_is_true_of_the_code(told, answer, sentence):
    assert told(answer).message.splitlines()[1].startswith(sentence)
