"""Mistakes that many exercises share are recognised in functions and in classes, however they are written."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from proctor import Examiner, Exercise
from proctor.examining.usual_mistakes import ignores, squeezes, unpacks
from proctor.inside.inputs import normal, seeded

HINTS = ["a", "b", "c"]


def centred(x: Tensor, shift: float = 0.5, scale: float = 2.0) -> Tensor:
    return scale * (x - x.mean(-1, keepdim=True)) + shift


class Centred(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d, d)

    def forward(self, x: Tensor, shift: float = 0.5) -> Tensor:
        return centred(self.proj(x), shift)


@pytest.fixture(scope="module")
def function() -> Examiner:
    exercise = Exercise(centred, section="", hints=HINTS)

    @exercise.probe
    def in_a_batch(answer: Any) -> dict[str, Tensor]:
        """two dimensions"""
        return {"output": answer(normal(3, 4, seed="x"), 1.5), "of one": answer(normal(1, 4, seed="x"), scale=3.0)}

    @exercise.probe
    def in_two_batches(answer: Any) -> dict[str, Tensor]:
        """three dimensions"""
        return {"output": answer(normal(2, 3, 4, seed="y"), shift=2.5)}

    squeezes(exercise)
    unpacks(exercise, "x", "batch", "d")
    ignores(exercise, "shift")
    ignores(exercise, "scale", "twice as large as it should be")
    return Examiner(exercise, "salt")


@pytest.fixture(scope="module")
def module() -> Examiner:
    exercise = Exercise(Centred, section="", hints=HINTS)

    @exercise.probe
    def in_a_batch(cls: Any) -> dict[str, Tensor]:
        """two dimensions"""
        return {"output": seeded(cls(4))(normal(3, 4, seed="x"), 1.5), "of one": seeded(cls(4))(normal(1, 4, seed="z"))}

    @exercise.probe
    def in_two_batches(cls: Any) -> dict[str, Tensor]:
        """three dimensions"""
        return {"output": seeded(cls(4))(normal(2, 3, 4, seed="y"), shift=2.5)}

    squeezes(exercise)
    unpacks(exercise, "x", "batch", "d")
    ignores(exercise, "shift")
    return Examiner(exercise, "salt")


def squeezed(x: Tensor, shift: float = 0.5, scale: float = 2.0) -> Tensor:
    return centred(x, shift, scale).squeeze()


def unpacked(x: Tensor, shift: float = 0.5, scale: float = 2.0) -> Tensor:
    rows, _ = x.shape
    return torch.stack([centred(x[i], shift, scale) for i in range(rows)])


def without_shift(x: Tensor, shift: float = 0.5, scale: float = 2.0) -> Tensor:
    return scale * (x - x.mean(-1, keepdim=True)) + 0.5


def without_scale(x: Tensor, shift: float = 0.5, scale: float = 2.0) -> Tensor:
    return 2 * (x - x.mean(-1, keepdim=True)) + shift


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (squeezed, "squeezed"),
        (unpacked, "one_batch_dimension_only"),
        (without_shift, "shift_ignored"),
        (without_scale, "scale_ignored"),
    ],
)
def test_a_function_that_makes_one_is_told_so(function: Examiner, answer: Any, name: str) -> None:
    result = function.examine(answer)
    assert result.misconceptions == (name,)
    assert function.examine(centred).state == "passed"


@pytest.mark.parametrize(
    ("answer", "name"),
    [(squeezed, "Squeezed"), (unpacked, "OneBatchDimensionOnly"), (without_shift, "ShiftIgnored")],
)
def test_a_class_that_makes_one_is_told_so(module: Examiner, answer: Any, name: str) -> None:
    class Answer(nn.Module):
        def __init__(self, d: int) -> None:
            super().__init__()
            self.proj = nn.Linear(d, d)

        def forward(self, x: Tensor, shift: float = 0.5) -> Tensor:
            return answer(self.proj(x), shift)

    assert module.examine(Answer).misconceptions == (name,)
    assert module.examine(Centred).state == "passed"


def test_what_a_student_reads(function: Examiner) -> None:
    said = {name: mistake.explanation for name, mistake in function.exercise.misconceptions.items()}
    assert said["squeezed"].sentence == "You drop the dimensions of size 1 from the result."
    assert said["one_batch_dimension_only"].sentence == "Your code works only with exactly one batch dimension."
    assert "`batch, d = x.shape`" in said["one_batch_dimension_only"].reason
    assert said["shift_ignored"].sentence == "You never look at `shift`."
    assert said["shift_ignored"].reason == "Whatever is passed, the result is that of `shift=0.5`."
    assert said["scale_ignored"].reason == "Whatever is passed, the result is twice as large as it should be."
