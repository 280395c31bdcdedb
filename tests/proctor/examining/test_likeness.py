"""An answer that nearly makes a known mistake, and one that is right but would not run everywhere."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from proctor import Examiner, Exercise
from proctor.inside.inputs import normal
from proctor.inside.properties import other_device, under_no_grad, usual


def centred(x: Tensor) -> Tensor:
    """Mean 0 in every row."""
    return x - x.mean(-1, keepdim=True)


def examiner_of(salt: str = "") -> Examiner:
    exercise = Exercise(centred, section="Rows", hints=["a", "b", "c"])
    for rows, columns in ((2, 3), (3, 5), (4, 6), (5, 40)):

        def probe(implementation, rows=rows, columns=columns):
            return {"y": implementation(normal(rows, columns, seed=columns))}

        probe.__name__ = f"of_{columns}"
        probe.__doc__ = f"{rows} rows of {columns}"
        exercise.probe(probe)
    usual(exercise, lambda: (normal(3, 4, seed=0),))

    @exercise.misconception
    def whole(x):
        """You take the mean of all numbers.

        Each row has a mean of its own.
        """
        return x - x.mean()

    @exercise.misconception
    def added(x):
        """You add the mean."""
        return x + x.mean(-1, keepdim=True)

    return Examiner(exercise, salt)


@pytest.mark.parametrize("salt", ["", "salt"])
def test_what_most_failing_checks_agree_with_is_a_likeness(salt: str) -> None:
    def nearly(x):
        return x - x.mean() if x.shape[-1] < 40 else x - x.sum()

    result = examiner_of(salt).examine(nearly)
    assert (result.state, result.help, result.resembles, result.misconceptions) == ("not_yet", "resembles", "whole", ())
    assert "which does the same on 3 of the 4 checks of values that fail: You take the mean of all numbers." in (
        result.message
    )
    assert "Below is one where it does not.\nSeen on 5 rows of 40:" in result.message
    assert result.row("ada")["misconception"] is None


@pytest.mark.parametrize("border", [4, 6])
def test_half_of_them_is_none(border: int) -> None:
    """One of four, or two of four."""

    def answer(x):
        return x - x.mean() if x.shape[-1] < border else x.sin()

    result = examiner_of().examine(answer)
    assert (result.help, result.resembles) == ("shown", "")


def test_what_is_contradicted_where_the_answer_is_right_is_none() -> None:
    def answer(x):
        return {3: x - x.mean(-1, keepdim=True), 40: x.sin()}.get(x.shape[-1], x - x.mean())

    assert examiner_of().examine(answer).resembles == ""


# ---- right here, not everywhere


def on_the_cpu(x):
    return x - x.mean(-1, keepdim=True) + torch.zeros(x.shape[-1], dtype=x.dtype)


def test_what_fails_elsewhere_alone_is_right_here() -> None:
    result = examiner_of().examine(on_the_cpu)
    assert (result.state, result.right_here, result.help) == ("not_yet", True, "explained")
    assert result.headline.startswith("centred: right here, not yet everywhere (")
    assert result.score == pytest.approx(1 - (result.probes - result.probes_passed) / result.probes), "as before"


def test_it_hides_no_name_and_is_said_second() -> None:
    def answer(x):
        return x - x.mean() + torch.zeros(x.shape[-1], dtype=x.dtype)

    result = examiner_of().examine(answer)
    assert (result.misconceptions, result.help, result.right_here) == (("whole",), "named", False)
    assert "\nBesides: Your code makes a tensor on the CPU whatever the inputs' device is" in result.message


def test_it_hides_no_property() -> None:
    """In-place writing is the first thing to say, though the device is wrong as well."""

    def answer(x):
        x -= x.mean(-1, keepdim=True)
        return x + torch.zeros(x.shape[-1], dtype=x.dtype)

    result = examiner_of().examine(answer)
    assert "Your code changes a tensor that it was given" in result.explanations[0].sentence
    assert result.elsewhere.startswith("Your code makes a tensor on the CPU")


def test_the_makers_are_marked() -> None:
    def make() -> tuple[Tensor]:
        return (torch.ones(2),)

    exercise = examiner_of().exercise
    marked = {name for name, probe in exercise.probes.items() if probe.portability}
    assert marked == {"under_no_grad", "in_float16", "in_bfloat16", "other_device"}
    assert other_device(make).portability
    assert under_no_grad(make).portability
