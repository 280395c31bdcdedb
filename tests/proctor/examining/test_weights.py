"""An exercise of weights: measures with bars, mistakes that weights show, and what a student is told."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from proctor.examining.weights import UNNAMED, WeightsJudge

spec = importlib.util.spec_from_file_location("sample_weights", Path(__file__).parents[1] / "sample_weights.py")
assert spec is not None
assert spec.loader is not None
sample = sys.modules["sample_weights"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sample)


def judge(**numbers: Any) -> Any:
    return WeightsJudge(sample.line).judge(sample.file(**numbers))


def test_right_weights_pass_and_hear_how_right_they_are() -> None:
    result = judge()
    assert (result.state, result.score, result.probes_passed, result.probes) == ("passed", 1.0, 2, 2)
    assert result.evidence[:2] == (
        "mean: 0.00 off; at most 0.10 is asked",
        "met: 100% of the points are met; at least 50% is asked",
    )
    assert result.next_step == ""


def test_each_measure_earns_its_share() -> None:
    result = judge(offset=1.08)  # near every point, and on none
    assert (result.state, result.score, result.probes_passed) == ("not_yet", 0.5, 1)
    assert result.explanations == (UNNAMED,)
    assert result.misconceptions == ()
    assert result.next_step == 'section "Lines", or hint("line").'


def test_the_first_mistake_that_shows_is_named_with_its_number() -> None:
    result = judge(slope=-3.0, offset=9.0)
    assert result.misconceptions == ("upside_down",)
    assert [e.sentence for e in result.explanations] == ["Your line falls."]
    assert result.evidence[0] == "its slope is -3"
    assert (result.score, result.help) == (0.0, "named")
    assert judge(offset=9.0).misconceptions == ("too_high",)


def test_the_drawing_shows_how_far_it_is_to_go() -> None:
    far, near, beyond = (judge(offset=1 + error).evidence[-2] for error in (1.0, 0.3, 7.0))
    assert far.index("●") == 24  # half of 48
    assert near.index("●") == 7
    assert far.index("┃") == 2
    assert beyond.endswith("●▸")
    assert judge().evidence[-1] == "● yours, ┃ what is asked, ┼ best 0.00, a guess 2.00"


def test_a_file_that_cannot_be_read_is_told_so_and_earns_nothing() -> None:
    result = WeightsJudge(sample.line).judge(b"PK\x03\x04 and so on, and on, and on")
    assert (result.state, result.score) == ("stopped", 0.0)
    assert "line.safetensors: It is a zip archive" in result.message
    assert "Next: `save(model)` writes a file that can be read." in result.message
    result = judge(points="7")
    assert "Its metadata do not say points = 2." in result.message


def test_a_mistake_in_the_file_itself_has_a_name() -> None:
    result = judge(slope=float("nan"))
    assert (result.state, result.misconceptions, result.help) == ("not_yet", ("not_finite",), "named")
    assert "`slope` has 1 of 1 entries that are NaN or infinite." in result.message


def test_data_are_fresh_for_every_salt_and_the_same_for_one() -> None:
    one, again, other = (WeightsJudge(sample.line, salt).data for salt in ("a", "a", "b"))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_no_result_that_is_no_number_passes() -> None:
    result = judge(slope=3e38, offset=3e38)
    assert result.score == 0


def test_the_number_of_threads_is_left_as_it_was() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        judge()
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", sample.line.examples)
def test_an_example_makes_its_mistake(name: str) -> None:
    from proctor.examining.tensor_file import read_tensors, write_tensors

    mistake, make = sample.line.examples[name]
    right = read_tensors(sample.file(), sample.layout)
    assert WeightsJudge(sample.line).judge(write_tensors(make(right))).misconceptions == (mistake,)
