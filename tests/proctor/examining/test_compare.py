"""Agreement: names, shapes, dtypes, values; and the sentence that says what differs."""

import math

import pytest
import torch
from torch import tensor

from proctor.examining.compare import TOLERANCE, ComparableObservation, ComparableTensor
from proctor.inside.observe import Observation, Raised


def sentence(seen, expected) -> str:
    found = ComparableTensor(expected).difference("weights", ComparableTensor(seen))
    assert (found is None) == (ComparableTensor(expected).excess(ComparableTensor(seen)) <= 1)
    return found.sentence if found else "agrees"


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_tolerance_is_relative_to_the_largest_expected_number(dtype):
    expected = tensor([1e-3, 1000.0, -3.0], dtype=dtype)
    step = 1000 * TOLERANCE[dtype]
    assert (
        ComparableTensor(expected).difference("x", ComparableTensor((expected.double() + 0.4 * step).to(dtype))) is None
    )
    assert (
        ComparableTensor(expected).difference("x", ComparableTensor((expected.double() + 4 * step).to(dtype)))
        is not None
    )


@pytest.mark.parametrize(
    ("seen", "expected", "words"),
    [
        (torch.zeros(2, 3), torch.zeros(3, 2), "weights has shape (2, 3), expected (3, 2)."),
        (torch.zeros(2).double(), torch.zeros(2), "weights is float64, expected float32."),
        (torch.zeros(2).long(), torch.zeros(2).bool(), "weights is int64, expected bool."),
        (tensor([[0.1], [0.855]]), tensor([[0.1], [0.487]]), "weights[1, 0] is 0.855, expected 0.487."),
        (tensor(2.0), tensor(3.0), "weights is 2, expected 3."),
        (tensor([1.0, math.nan]), tensor([1.0, 2.0]), "weights[1] is nan, expected 2."),
        (tensor([1.0, -math.inf]), tensor([1.0, math.inf]), "weights[1] is -inf, expected inf."),
        (tensor([[0.0, -0.998], [0.99800006, 0.0]]), tensor([[0.0, 0.998], [-0.998, 0.0]]),
         "weights[0, 1] is -0.998, expected 0.998."),  # both are wrong by as much: a last digit does not choose
        (tensor([1, 2]), tensor([1, 3]), "weights[1] is 2, expected 3."),
        (tensor([True]), tensor([False]), "weights[0] is True, expected False."),
    ],
)  # fmt: skip
def test_what_differs_is_said(seen, expected, words):
    assert sentence(seen, expected) == words


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_agree_with_themselves(value):
    assert sentence(tensor([1.0, value]), tensor([1.0, value])) == "agrees"


def test_a_scalar_may_be_a_float_or_a_zero_dimensional_tensor():
    assert sentence(tensor(0.5, dtype=torch.float64), tensor(0.5, dtype=torch.float32)) == "agrees"
    assert sentence(tensor(0.6, dtype=torch.float64), tensor(0.5, dtype=torch.float32)) != "agrees"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("expected", [tensor(0.5), tensor(0.5, dtype=torch.float64)])
def test_a_scalar_does_not_choose_its_tolerance(dtype, expected):
    assert sentence(tensor(0.51, dtype=dtype), expected).startswith(f"weights is {str(dtype)[6:]}, expected float")


def test_the_tolerance_is_that_of_the_expected_dtype():
    assert sentence(tensor(0.5 + 1e-4), tensor(0.5, dtype=torch.float64)) != "agrees"
    assert sentence(tensor(0.5 + 1e-6), tensor(0.5, dtype=torch.float64)) == "agrees"
    assert sentence(tensor(0.51, dtype=torch.float64), tensor(0.5, dtype=torch.bfloat16)) == "agrees"


@pytest.mark.parametrize(("error", "lost"), [(0.0, False), (1e-12, False), (1e-7, True)])
def test_float32_inside_is_noticed_where_it_agrees(error, lost):
    expected, seen = ({"x": tensor([3.0], dtype=torch.float64) + e} for e in (0.0, error))
    assert (
        ComparableObservation(Observation(expected)).loses_precision(ComparableObservation(Observation(seen))) is lost
    )


def test_zero_expected_means_zero():
    assert sentence(tensor([1e-3]), tensor([0.0])) == "weights[0] is 0.001, expected 0."


def test_digits_are_added_until_the_numbers_differ():
    assert sentence(tensor([1.0002]), tensor([1.0])) == "weights[0] is 1.0002, expected 1."


def test_missing_and_surplus_names():
    known = ComparableObservation(Observation({"a": tensor(1.0), "b": tensor(1.0)}))
    found = known.differences(ComparableObservation(Observation({"a": tensor(1.0), "c": tensor(1.0)})))
    assert [d.sentence for d in found] == ["b is missing.", "c is not asked for."]


def test_raising_agrees_only_with_raising_the_same():
    fine = Observation({"x": tensor(1.0)})
    index, value = (Observation(None, Raised(kind, "text")) for kind in ("IndexError", "ValueError"))
    assert ComparableObservation(index).same(ComparableObservation(index))
    assert [
        ComparableObservation(a).excess(ComparableObservation(b))
        for a, b in ((index, value), (fine, index), (index, fine))
    ] == [math.inf] * 3
