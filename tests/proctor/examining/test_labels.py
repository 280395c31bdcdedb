"""What differs is said in a sentence, by the names that a student knows."""

import pytest
import torch
from torch import nn, tensor

from proctor.examining.compare import ComparableTensor
from proctor.examining.labels import about_a_lack, about_a_surplus, called_with, parameters_of, spoken


def sentence(label, seen, expected):
    return ComparableTensor(expected).difference(label, ComparableTensor(seen)).sentence


@pytest.mark.parametrize(
    ("label", "seen", "expected", "words"),
    [
        ("weights", tensor([1.0, 0.5]), tensor([1.0, 0.25]), "weights[1] is 0.5, expected 0.25."),
        ("x after the call", tensor([[0.0]]), tensor([[3.5]]), "x[0, 0] was 3.5 and is 0 after your call."),
        ("length of words after the call", tensor(4), tensor(5), "length of words was 5 and is 4 after your call."),
        ("x after the call", torch.zeros(2), torch.zeros(2, 1), "x had shape (2, 1) and has (2,) after your call."),
        ("x after the call", torch.zeros(2).double(), torch.zeros(2), "x was float32 and is float64 after your call."),
        ("ids, eos after 5", tensor([1] * 7), tensor([1] * 5), "ids, eos after 5: yours has length 7, expected 5."),
        ("ids", tensor([1] * 7), tensor([1] * 5), "ids has length 7, expected 5."),
        ("ids", tensor([[1]]), tensor([1]), "ids has shape (1, 1), expected (1,)."),
        ("of 20", tensor(3), tensor(20), "of 20: yours is 3, expected 20."),
        ("output under (2, 3)", tensor([1]), tensor([2]), "output under (2, 3): yours is 1 at [0], expected 2."),
        ("output of one", tensor(1.0), tensor([2.0]), "output of one: yours has shape (), expected (1,)."),
        ("loss of one", tensor([1]), tensor([1.0]), "loss of one: yours is int64, expected float32."),
        ("b is trained", tensor(False), tensor(True), "It should be true that b is trained, and it is not."),
        ("b is trained", tensor(True), tensor(False), "It should not be true that b is trained, and it is."),
        ("skipped", tensor(True), tensor(False), "skipped is True, expected False."),
        ("mask of all", tensor([True]), tensor([False]), "mask of all: yours is True at [0], expected False."),
    ],
)  # fmt: skip
def test_a_difference_is_a_sentence(label, seen, expected, words):
    assert sentence(label, seen, expected) == words


def test_what_is_gone_and_what_is_new():
    assert about_a_lack("words[7] after the call") == "words[7] is gone after your call."
    assert about_a_lack("weights") == "weights is missing."
    assert about_a_surplus("words[8] after the call") == "words[8] was not there before your call."
    assert about_a_surplus("weights") == "weights is not asked for."


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("argument 0 after the call", "q after the call"),
        ("length of argument 1 after the call", "length of cache after the call"),
        ("argument 1 0 7 after the call", "cache[0][7] after the call"),
        ("gradient of argument 0", "gradient of q"),
        ("gradient of argument 9", "gradient of input 10"),
        ("gradient of linear.weight", "gradient of linear.weight"),
        ("output", "output"),
        ("output 1", "output[1]"),
        ("output 1 0", "output[1][0]"),
        ("output after merging", "output after merging"),
        ("output with one key", "output with one key"),
        ("weights", "weights"),
    ],
)
def test_arguments_and_results_go_by_their_names(label, words):
    assert spoken(label, {0: "q", 1: "cache"}) == words


class Layer(nn.Module):
    def forward(self, x, mask=None):
        return x


def join(*masks, scale=1.0):
    return masks


def of(reference, call, seen):
    calls = []
    call(called_with(reference, calls))
    return parameters_of(reference, calls, {f"argument {i} after the call": torch.zeros(s) for i, s in seen.items()})


def test_the_names_are_those_of_the_reference():
    x, mask = torch.zeros(2, 3), torch.zeros(3)
    assert of(Layer, lambda layer: layer()(x, mask), {0: (2, 3), 1: (3,)}) == {0: "x", 1: "mask"}
    assert of(join, lambda f: f(x, mask), {0: (2, 3), 1: (3,)}) == {0: "masks[0]", 1: "masks[1]"}


def test_an_order_of_the_probes_own_is_found_by_shape_or_the_name_is_left_open():
    x, mask = torch.zeros(2, 3), torch.zeros(3)
    assert of(Layer, lambda layer: layer()(x, mask), {0: (3,)}) == {0: "mask"}
    assert of(Layer, lambda layer: layer()(x, x), {2: (2, 3)}) == {}
    assert of(Layer, lambda layer: (layer()(x, mask), layer()(mask, mask)), {0: (2, 3), 1: (3,)}) == {
        0: "x",
        1: "mask",
    }
