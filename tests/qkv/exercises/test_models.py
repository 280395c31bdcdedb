"""Chapter 12: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "models/wrong/across_words/train_bpe": "one_long_text",
    "models/wrong/as_characters/train_bpe": "characters_for_bytes",
    "models/wrong/across_words/encode_bpe": "spaces_lost",
    "models/wrong/as_a_dictionary/encode_bpe": "whichever_fits_from_the_left",
    "models/wrong/across_words/mask_tokens": "none_stays",
    "models/wrong/as_characters/mask_tokens": "one_draw_for_both",
    "models/wrong/across_words/corrupt_spans": "a_mark_for_every_id",
    "models/wrong/as_a_dictionary/corrupt_spans": "end_included",
    "models/wrong/across_words/perplexity": "two_to_the_nats",
    "models/wrong/as_characters/perplexity": "not_shifted_at_all",
    "models/wrong/across_words/sampling_probabilities": "left_below_one",
    "models/wrong/as_a_dictionary/sampling_probabilities": "logarithms_returned",
    "models/wrong/across_words/PatchEmbedding": "ClassTokenMissing",
    "models/wrong/as_characters/PatchEmbedding": "ReshapedOnly",
    "models/wrong/across_words/LoRALinear": "MergedBiasShared",
    "models/wrong/as_a_dictionary/LoRALinear": "FrozenBiasForgotten",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


def test_whoever_does_not_shift_reads_why_it_is_too_good(told):
    message = told("models/wrong/as_characters/perplexity").message
    assert message.startswith("perplexity: not yet")
    assert 'section "How surprised is it?"' in message
