"""Chapter 04: what a student reads of mistakes that are often copied, under any salt; what may be float32."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from proctor import Examiner
from qkv.exercises import get_code

ANSWERS = Path(__file__).parents[3] / "answers" / "positions"


@pytest.mark.parametrize("salt", ["", "another"])
@pytest.mark.parametrize(
    ("exercise", "answer", "mistake"),
    [
        ("sinusoidal_positions", "a_clock_for_every_column", "the_columns_number_for_i"),
        ("sinusoidal_positions", "doubled_again", "doubled_again"),
        ("sinusoidal_positions", "halves_with_both_ends", "halves_with_both_ends"),
        ("shift_matrix", "doubled_again", "blocks_doubled_again"),
        ("shift_matrix", "full_turns", "blocks_in_whole_turns"),
        ("rotate", "a_clock_for_every_column", "halves_with_angles_of_neighbours"),
        ("rotate", "halves_of_a_checkpoint", "neighbours_with_angles_of_halves"),
        ("rotate", "half_precision_angles", "angles_in_the_dtype_of_x"),
        ("rotate", "three_dimensions_only", "only_with_one_batch_dimension"),
        ("relative_scores", "three_dimensions_only", "only_with_one_batch_dimension_of_keys"),
        ("relative_scores", "batches_by_bmm", "only_for_bmm"),
        ("relative_scores", "one_sequence_only", "only_without_a_batch"),
        ("relative_scores", "in_place", "the_row_of_no_distance"),
        ("relative_bucket", "rounding_the_buckets", "rounded_up"),
        ("relative_bucket", "halves_with_both_ends", "last_bucket_of_all"),
        ("relative_bucket", "clipped_to_the_table", "one_bucket_short"),
        ("alibi_bias", "a_clock_for_every_column", "the_same_row_counted_from_one"),
        ("alibi_bias", "doubled_again", "the_row_of_the_last_query"),
        ("alibi_bias", "one_row_of_biases", "the_same_row_for_every_query"),
        ("piece_kinds", "floats", "kinds_as_floats"),
        ("piece_kinds", "one_sequence_only", "a_mark_at_the_end"),
    ],
)
def test_a_mistake_that_is_often_copied_has_a_name(exercise, answer, mistake, salt):
    code = runpy.run_path(str(ANSWERS / "wrong" / f"{answer}.py"))[exercise]
    assert Examiner(get_code(exercise), salt).examine(code).misconceptions == (mistake,)


@pytest.mark.parametrize(
    ("exercise", "answer", "sentence"),
    [
        ("relative_scores", "writes_where_it_fits", "Your code changes a tensor that it was given."),
        ("relative_bucket", "writes_where_it_fits", "Your code changes a tensor that it was given."),
        ("rotate", "only_with_gradients", "Under `torch.no_grad()` your code gives other numbers."),
        ("piece_kinds", "in_place", "Your code changes the list that it was given. The caller still needs it."),
    ],
)
def test_what_is_said_of_an_answer_whose_values_are_right(exercise, answer, sentence):
    code = runpy.run_path(str(ANSWERS / "wrong" / f"{answer}.py"))[exercise]
    assert Examiner(get_code(exercise)).examine(code).message.splitlines()[1].startswith(sentence)


@pytest.mark.parametrize("exercise", ["sinusoidal_positions", "shift_matrix", "alibi_bias"])
def test_float32_is_right_where_no_input_is_floating_and_costs_a_remark_only(exercise):
    code = runpy.run_path(str(ANSWERS / "right" / "always_float32.py"))[exercise]
    result = Examiner(get_code(exercise)).examine(code)
    assert result.state == "passed"
    assert [remark.partition(".")[0] for remark in result.remarks] == [
        "Your result is float32 although torch's default dtype was set to float64"
    ]
