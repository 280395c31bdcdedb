"""The case of a verdict: what went in, what came out, and what should have."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from proctor import Examiner
from proctor.examining.labels import called_with
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import Observation, observe
from qkv import check, exercises
from qkv.notebook.cases import case_of


def test_a_case_can_be_played_with() -> None:
    def softmax(scores: Any, dim: int) -> Any:
        powers = (scores - scores.amax(dim, keepdim=True)).exp()
        return 1.01 * powers / powers.sum(dim, keepdim=True)

    result = check(softmax)
    assert result.state == "not_yet"
    assert "Every entry of weights is off by the same factor, 1.01." in result.message
    case = result.case
    assert set(case.inputs) == {"scores", "dim"}
    assert torch.equal(softmax(**case.inputs), case.yours["weights"])
    assert torch.allclose(case.inputs["scores"].softmax(case.inputs["dim"]), case.expected["weights"])
    assert "inputs: scores (2, 3, 5), dim -1" in repr(case)
    html = result._repr_html_()
    assert html.count("<svg") == 3
    assert "your weights" in html


def test_where_it_raised_or_gave_no_tensor_there_are_the_inputs() -> None:
    def softmax(scores: Any, dim: int) -> Any:
        print("never shown twice")
        return scores.exp() / scores.exp().sum(dim + 7, keepdim=True)

    case = check(softmax).case
    assert set(case.inputs) == {"scores", "dim"}
    assert case.yours == {}
    assert set(case.expected) == {"weights"}
    with pytest.raises(IndexError):
        softmax(**case.inputs)

    def softmax(scores: Any, dim: int) -> Any:  # type: ignore[no-redef]
        return None

    assert set(check(softmax).case.inputs) == {"scores", "dim"}


def test_the_inputs_are_those_of_the_call_that_raised() -> None:
    exercise = exercises.get_code("softmax")
    examiner = Examiner(exercise)
    first, several = [], []

    def softmax(scores: Any, dim: int) -> Any:
        if first and first[-1] is not None:
            raise ValueError("the second call")
        first.append(dim)
        return exercise.reference(scores, dim)

    for name, probe in exercise.counted().items():
        calls: list[dict[str, Any]] = []
        with drawing(Replay(examiner.draws)):
            observe(probe.function, called_with(exercise.reference, calls))
        if len(calls) > 2 and probe.kind == "value":
            several.append((name, calls))
    assert several, "a probe that calls several times"
    name, calls = several[0]
    case = case_of(examiner, name, {name: Observation(None)}, softmax)
    assert case is not None
    assert torch.equal(case.inputs["scores"], calls[1]["scores"])
