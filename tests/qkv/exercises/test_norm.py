"""Chapter 06: what answers that are often handed in are told."""

from __future__ import annotations

import pytest

NAMES = {
    "norm/wrong/powers/layer_norm": "squared_instead_of_rooted",
    "norm/wrong/a_second_root/layer_norm": "root_of_the_deviation",
    "norm/wrong/swapped/layer_norm": "gain_and_shift_confused",
    "norm/wrong/fixed_eps/layer_norm": "eps_fixed",
    "norm/wrong/one_dimension_only/layer_norm": "over_the_second_dimension",
    "norm/wrong/one_dimension_only/layer_norm_backward": "one_batch_dimension",
    "norm/wrong/signs/layer_norm_backward": "stretch_added",
    "norm/wrong/swapped/layer_norm_backward": "gain_and_shift_exchanged",
    "norm/wrong/a_second_root/layer_norm_backward": "left_to_torch_func",
    "norm/wrong/a_second_root/batch_norm": "eps_left_out",
    "norm/wrong/swapped/batch_norm": "stretched_before_normalising",
    "norm/wrong/without_eps/rms_norm": "no_eps_at_all",
    "norm/wrong/a_second_root/rms_norm": "one_added_to_the_gain",
    "norm/wrong/one_dimension_only/rms_norm": "along_the_second_dimension",
    "norm/wrong/hands_on_a_tuple/PreNorm": "ArgumentsInOnePiece",
    "norm/wrong/swapped/PostNorm": "SummandsNormalised",
}
SENTENCES = {
    "norm/wrong/without_eps/batch_norm": "Under `torch.no_grad()` your code gives other numbers.",
    "norm/wrong/another_eps/PreNorm": "On vectors that hardly vary, where eps decides, your numbers differ.",
    "norm/wrong/writes_into_the_gain/layer_norm": "Your code changes a tensor that it was given.",
    "norm/wrong/without_eps/layer_norm_backward": "Your code raised RuntimeError",
}


@pytest.mark.parametrize(("answer", "name"), NAMES.items())
def test_a_real_mistake_has_a_name(told, answer, name):
    assert told(answer).misconceptions == tuple(name.split(" + "))


@pytest.mark.parametrize(("answer", "sentence"), SENTENCES.items())
def test_what_is_said_is_true_of_the_code(told, answer, sentence):
    assert told(answer).message.splitlines()[1].startswith(sentence)
