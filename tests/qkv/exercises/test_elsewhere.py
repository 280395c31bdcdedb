"""Chapter 16: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "elsewhere/wrong/reversed_order/kmer_ids": "first_base_lowest",
    "elsewhere/wrong/half_turned/kmer_ids": "word_not_reversed",
    "elsewhere/wrong/turned_the_other_way/kmer_ids": "word_not_complemented",
    "elsewhere/wrong/whole_read/kmer_ids": "whole_read_turned",
    "elsewhere/wrong/always_float32/kmer_ids": "through_float32",
    "elsewhere/wrong/half_turned/motif_scores": "window_not_reversed",
    "elsewhere/wrong/whole_read/motif_scores": "counted_from_the_other_end",
    "elsewhere/wrong/second_thoughts/motif_scores": "complement_of_n_is_t",
    "elsewhere/wrong/gives_up/patch_series": "newest_dropped",
    "elsewhere/wrong/squares/patch_series": "every_nth_value",
    "elsewhere/wrong/look_ahead/time_split": "split_by_starts",
    "elsewhere/wrong/look_ahead_again/time_split": "straddling_in_train",
    "elsewhere/wrong/half_turned/time_split": "test_reads_nothing_old",
    "elsewhere/wrong/look_ahead/running_zscore": "normalised_with_the_future",
    "elsewhere/wrong/turned_the_other_way/running_zscore": "each_from_its_own_mean",
    "elsewhere/wrong/squares/running_zscore": "difference_of_squares",
    "elsewhere/wrong/strides/scaled_error": "differences_of_differences",
    "elsewhere/wrong/arguments_ignored/scaled_error": "season_overlooked",
    "elsewhere/wrong/look_ahead/retrieval_recall": "ties_won",
    "elsewhere/wrong/unknown_as_known/retrieval_recall": "ties_by_place",
    "elsewhere/wrong/off_by_one_again/retrieval_recall": "own_among_the_others",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))
