"""Verdicts: the five states, scores, single and composed diagnoses, and what a student reads."""

import importlib.util
from pathlib import Path

import pytest

from proctor import Examiner

spec = importlib.util.spec_from_file_location("toy", Path(__file__).with_name("toy.py"))
toy = importlib.util.module_from_spec(spec)
spec.loader.exec_module(toy)


@pytest.fixture(params=["", "salt"])
def examiner(request):
    return Examiner(toy.exercise, request.param)


def test_the_reference_passes(examiner):
    result = examiner.examine(toy.affine)
    assert (result.state, result.score, result.misconception) == ("passed", 1.0, None)
    assert result.message == "affine: passed (3 of 3 probes agree)"


@pytest.mark.parametrize("name", ["slope_divides", "offset_subtracted", "changes_its_input"])
def test_each_mistake_is_diagnosed_as_itself(examiner, name):
    result = examiner.examine(toy.exercise.misconceptions[name].implementation)
    assert (result.state, result.misconception) == ("not_yet", name)


def test_two_mistakes_at_once_are_both_named(examiner):
    result = examiner.examine(toy.both_wrong)
    assert result.misconception == "slope_divides + offset_subtracted"
    assert "You divide by the slope." in result.message
    assert "You subtract the offset." in result.message


def test_an_unknown_mistake_is_not_guessed(examiner):
    result = examiner.examine(toy.unknown_mistake)
    assert (result.state, result.misconception) == ("not_yet", None)
    assert "not one of the mistakes that we know by name" in result.message
    assert "Seen on three numbers:" in result.message


def test_the_stub_is_not_started(examiner):
    result = examiner.examine(toy.unstarted)
    assert (result.state, result.score) == ("not_started", 0.0)
    assert result.message.startswith('affine: not started\nNext: section "Lines", or hint("affine").')


def test_partial_credit_and_where_it_stopped(examiner):
    result = examiner.examine(toy.raises_on_steep)
    assert (result.state, result.score, result.probes_passed) == ("stopped", 0.5, 2)
    assert "Your code raised IndexError" in result.message
    assert "IndexError: too steep" in result.message


def test_leaving_is_not_an_answer(examiner):
    result = examiner.examine(toy.leaves)
    assert (result.state, result.score) == ("stopped", 0.0)


def test_returning_nothing_is_told(examiner):
    result = examiner.examine(toy.returns_nothing)
    assert result.score == 0.0
    assert "y is None; is a `return` missing?" in result.message


def test_a_property_only_takes_away(examiner):
    result = examiner.examine(toy.exercise.misconceptions["changes_its_input"].implementation)
    assert result.score == pytest.approx(2 / 3)  # both value probes agree, one of three probes does not


def test_calling_what_is_forbidden_earns_nothing(examiner):
    result = examiner.examine(toy.calls_softmax)
    assert (result.state, result.score) == ("not_yet", 0.0)
    assert "You call torch's own softmax, which this exercise asks you to do without." in result.message


def test_a_probe_that_was_not_reached_counts_as_not_passed(examiner):
    seen = examiner.observations(toy.affine)
    del seen["steep"]
    result = examiner.verdict(seen)
    assert (result.state, result.score) == ("stopped", 0.5)
    assert "did not get as far" in result.message


def test_a_broken_reference_is_our_fault_and_says_so():
    broken = type(toy.exercise)(toy.unstarted, section="", hints=[])
    broken.name, broken.probes = "affine", toy.exercise.probes
    with pytest.raises(RuntimeError, match="the reference of affine fails its probe three_numbers"):
        _ = Examiner(broken).expected


def test_the_row_for_results_jsonl(examiner):
    row = examiner.examine(toy.both_wrong).row("alice")
    assert " ".join(row) == "student exercise state score probes_passed probes misconception message seconds"
    assert (row["student"], row["exercise"], row["state"]) == ("alice", "affine", "not_yet")
