"""Code that works for one number of batch dimensions alone hears that, whether it raises or returns something else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from proctor import Examiner, Exercise
from proctor.inside.inputs import normal


def centred(x: Tensor) -> Tensor:
    """Mean 0 in every column."""
    return x - x.mean(-2, keepdim=True)


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    exercise = Exercise(centred, section="Rows", hints=["a", "b", "c"])
    for shape in ((3, 5), (4, 6), (2, 3, 7), (3, 4, 2), (2, 3, 4, 5), (1, 2, 5, 6)):

        def probe(implementation, shape=shape):
            return {"y": implementation(normal(*shape, seed=0))}

        probe.__name__ = f"of_{'_'.join(map(str, shape))}"
        probe.__doc__ = f"numbers of shape {shape}"
        exercise.probe(probe)
    return Examiner(exercise)


def of_columns(x: Tensor) -> Tensor:
    return x - x.mean(0, keepdim=True)


def raises(x: Tensor) -> Tensor:
    rows, _ = x.shape
    return x - x.sum(0, keepdim=True) / rows


def one_batch(x: Tensor) -> Tensor:
    return x - x.mean(1, keepdim=True)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            of_columns,
            "Your code works only without a batch: it passes the 2 checks of values without leading",
        ),
        (raises, "Your code works only without a batch: it passes the 2 checks of values without leading"),
        (one_batch, "Your code works only with one batch dimension: it passes the 2 checks of values with one lead"),
    ],
)
def test_it_is_told_in_every_exercise(examiner: Examiner, answer: Callable[..., Tensor], sentence: str) -> None:
    result = examiner.examine(answer)
    assert result.help == "explained"
    assert result.explanations[0].sentence.startswith(sentence)
    assert result.score == pytest.approx(2 / 6)


def test_it_is_not_said_where_a_batch_passes(examiner: Examiner) -> None:
    def answer(x: Tensor) -> Tensor:
        return x - x.mean(-2, keepdim=True) if x.dim() == 2 or x.shape[0] == 1 else torch.zeros_like(x)

    result = examiner.examine(answer)
    assert "batch" not in result.message
