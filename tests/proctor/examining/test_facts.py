"""Facts about a result that differs are true, and the one that helps comes first."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from proctor.examining.compare import ComparableObservation
from proctor.examining.facts import facts, right_parts
from proctor.inside.observe import Observation

X = torch.arange(1.0, 13.0).reshape(3, 4).log1p()
WEIGHTS = X.softmax(-1)
ODD = (torch.arange(12) % 2 == 1).reshape(3, 4)
PAIRS = torch.tensor([[3, 1], [4, 1], [5, 9]])


def known(**values: Tensor) -> dict[str, ComparableObservation]:
    return {"probe": ComparableObservation(Observation(values))}


@pytest.mark.parametrize(
    ("expected", "seen", "said"),
    [
        (X, X * 1.01, ["Every entry of x is off by the same factor, 1.01."]),
        (X, -X, ["Every entry of x has the wrong sign."]),
        (X, X + 0.5, ["Every entry of x is too large by the same 0.5."]),
        (X, X.T.contiguous(), ["x is right after a transpose."]),
        (X, X.flip(0), ["x is right when it is read backwards along dimension 0."]),
        (X, X.roll(1, 1), ["x is right when it is shifted by one along dimension 1."]),
        (
            X,
            X[[0, 2, 1]],
            ["x has the right slices along dimension 0, in another order: yours at 1 is expected at 2."],
        ),
        (X[:, :1], X[[0, 2, 1], :1], []),  # one entry each: an accident, as far as one knows
        (X, 2.5 - X, ["Here your x and the right one add up to the same number everywhere, 2.5."]),
        (X, X.reshape(4, 3), ["The numbers of x are right, in another shape."]),
        (X, X * 0 + 0.5, ["Every entry of x is 0.5, and they should differ."]),
        (PAIRS, PAIRS * 0, ["Every entry of x is 0, and they should differ."]),
        (ODD, ~(ODD & ~ODD), ["Every entry of x is True, and they should differ."]),
        (X, X.diag_embed(), ["x has 3 dimensions, and 2 are asked for."]),
        (PAIRS[0], PAIRS.sum(), ["x has no dimensions, and 1 is asked for."]),
        (X, X.sum(), ["x has no dimensions, and 2 are asked for."]),
        (X, X / 0, ["12 of the 12 entries of x are NaN or infinite."]),
        (
            X,
            X + torch.eye(3, 4)[2] * torch.tensor([[0.0], [0.0], [1.0]]),
            ["Only entries at position 2 of dimension 0"],
        ),
        (X, torch.cat([X[:1] ** 2, X[1:]]), ["Only entries at position 0 of dimension 0 of x are wrong."]),
        (
            WEIGHTS,
            X.exp() / (X.exp().sum(-1, keepdim=True) + 1),
            ["Your rows should sum to 1, and some of them sum to"],
        ),
        (X, X**2, ["x is the square of the right one."]),
        (X, X.tanh(), ["x is the tanh of the right one."]),
        (X, 1 - X, ["x is 1 minus the right one."]),
        (X, 1 / X, ["x is 1 divided by the right one."]),
        (
            X,
            torch.where(ODD, (3 * X).sin(), X),
            ["Only entries at positions 1 and 3 of dimension 1 of x are wrong."],
        ),
        (X, X.sin(), []),
        (X, torch.where(ODD, X, 0.0), ["6 of the 12 entries of x are 0 and should not be; the others are right."]),
        (X, torch.where(ODD, X, -X), ["6 of the 12 entries of x have the wrong sign; the others are right."]),
        (
            torch.where(ODD, X, 0.0),
            X,
            ["6 of the 12 entries of x should be 0 and are not; the others are right."],
        ),
        (PAIRS[:, 0], PAIRS[[1, 0], 0], []),  # in another order, so that none is merely missing
        (PAIRS, PAIRS[1:], ["1 of the 3 rows that are expected in x are missing; the others are there."]),
        (PAIRS, torch.cat([PAIRS, PAIRS]), ["All 3 rows that are expected in x are there, and 3 that are not."]),
        (PAIRS, torch.cat([PAIRS[1:] + 1, PAIRS]) + 1, []),
        (X, X * 1.0005, ["Every entry of x is off by the same factor, 1.0005."]),
        (X, X.double() + 1e-8 * X.cos(), []),  # another dtype: "the same factor, 1" would be no fact
    ],
)
def test_facts(expected: Tensor, seen: Tensor, said: list[str]) -> None:
    found = facts(known(x=expected), known(x=seen), "probe")
    assert len(found) >= len(said)
    for sentence, beginning in zip(found, said, strict=False):
        assert sentence.startswith(beginning)
    if not said:
        assert found == ()


def test_a_label_with_a_comma_is_set_apart() -> None:
    name = "x, shape (3, 4)"
    assert facts(known(**{name: X}), known(**{name: -X}), "probe") == (f"Every entry of “{name}” has the wrong sign.",)


def test_which_of_several_results_are_right() -> None:
    def said(**seen: Tensor) -> str:
        return right_parts(known(a=X, b=2 * X, c=-X)["probe"], known(**seen)["probe"])

    assert said(a=X, b=X, c=-X) == "a and c are right; b is not."
    assert said(a=X, b=X, c=X) == "a is right; b and c are not."
    assert said(a=X, b=2 * X, c=X[:2]) == "a and b are right; c is not."
    assert said(a=-X, b=X, c=X) == ""
    assert said(a=X, b=X) == ""
    assert right_parts(known(a=X, ok=ODD.any())["probe"], known(a=-X, ok=ODD.any())["probe"]) == ""


def test_one_tensor_instead_of_three_values() -> None:
    wanted = {name: torch.zeros(3, 4) for name in "pmv"}
    seen = dict(zip("pmv", torch.ones(3, 4), strict=True))
    (said,) = facts(known(**wanted), known(**seen), "probe")
    assert said.startswith("3 values are asked for, and each of yours has the shape of a row of one of them")


def test_two_wrong_truths_are_not_exchanged() -> None:
    """Each is the other's, whatever the answer does."""
    yes, no = torch.tensor(True), torch.tensor(False)
    assert facts(known(a=yes, b=no), known(a=no, b=yes), "probe") == ()


def test_a_parameter_that_is_missing() -> None:
    gradients = {"gradient of q.weight": X, "gradient of q.bias": X[0]}
    expected = known(x=X) | {"gradients": ComparableObservation(Observation(gradients))}
    seen = known(x=X + 1) | {"gradients": ComparableObservation(Observation({"gradient of q.weight": X}))}
    assert facts(expected, seen, "probe")[0] == "`q.bias` is missing."


SHAPES = [(), (1,), (3,), (1, 1), (3, 4), (2, 3), (2, 3, 4), (0,), (0, 3)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.complex64])
@pytest.mark.parametrize("other", [torch.float32, torch.int64, torch.bool])
def test_whatever_meets_whatever_facts_are_found_or_none(dtype: torch.dtype, other: torch.dtype) -> None:
    """A number where a list is expected once ended the verdict."""
    for expected in SHAPES:
        for shape in SHAPES:
            wanted, got = torch.ones(expected).to(dtype), (2 * torch.ones(shape)).to(other)
            assert isinstance(facts(known(x=wanted), known(x=got), "probe"), tuple)
