"""Verdicts: the five states, scores, single and composed diagnoses, and what a student reads."""

import importlib.util
import warnings
from pathlib import Path

import pytest
import torch

from proctor import Examiner, Exercise
from proctor.inside.inputs import normal, seeded
from proctor.inside.properties import same_in

spec = importlib.util.spec_from_file_location("one_exercise", Path(__file__).parents[1] / "one_exercise.py")
one_exercise = importlib.util.module_from_spec(spec)
spec.loader.exec_module(one_exercise)


@pytest.fixture(params=["", "salt"])
def examiner(request):
    return Examiner(one_exercise.exercise, request.param)


def test_the_reference_passes(examiner):
    result = examiner.examine(one_exercise.affine)
    assert (result.state, result.score, result.misconceptions) == ("passed", 1.0, ())
    assert result.message == "affine: passed (3 of 3 checks pass)"


@pytest.mark.parametrize("name", ["slope_divides", "offset_subtracted", "changes_its_input"])
def test_each_mistake_is_diagnosed_as_itself(examiner, name):
    result = examiner.examine(one_exercise.exercise.misconceptions[name].implementation)
    assert (result.state, result.misconceptions) == ("not_yet", (name,))


def test_two_mistakes_at_once_are_both_named(examiner):
    result = examiner.examine(one_exercise.both_wrong)
    assert result.misconceptions == ("slope_divides", "offset_subtracted")
    assert "You divide by the slope." in result.message
    assert "You subtract the offset." in result.message


def test_an_unknown_mistake_is_not_guessed(examiner):
    result = examiner.examine(one_exercise.unknown_mistake)
    assert (result.state, result.misconceptions) == ("not_yet", ())
    assert "Seen on three numbers:" in result.message
    assert (result.help, result.explanations[0].sentence) == (
        "explained",
        "Every entry of y is too large by the same 1.",
    )


def test_what_no_fact_explains_is_shown(examiner):
    def affine(x, slope=1.0, offset=0.0):
        return (x * slope + offset).sin()

    result = examiner.examine(affine)
    assert (result.state, result.misconceptions, result.help) == ("not_yet", (), "shown")
    assert "not one of the mistakes that we know by name" in result.message


def test_the_stub_is_not_started(examiner):
    result = examiner.examine(one_exercise.unstarted)
    assert (result.state, result.score) == ("not_started", 0.0)
    assert result.message.startswith('affine: not started\nNext: section "Lines", or hint("affine").')


def test_partial_credit_and_where_it_stopped(examiner):
    result = examiner.examine(one_exercise.raises_on_steep)
    assert (result.state, result.score, result.probes_passed) == ("stopped", 0.5, 2)
    assert "Your code raised IndexError" in result.message
    assert "IndexError: too steep" in result.message


def test_leaving_is_not_an_answer(examiner):
    result = examiner.examine(one_exercise.leaves)
    assert (result.state, result.score) == ("stopped", 0.0)


def test_returning_nothing_is_told(examiner):
    result = examiner.examine(one_exercise.returns_nothing)
    assert result.score == 0.0
    assert "y is None. Is a `return` missing?" in result.message


def test_no_return_is_missing_where_something_is_returned_elsewhere(examiner):
    result = examiner.examine(lambda x, slope, offset: slope * x + offset if slope < 50 else None)
    assert "y is None." in result.message
    assert "missing" not in result.message


def test_a_property_only_takes_away(examiner):
    result = examiner.examine(one_exercise.exercise.misconceptions["changes_its_input"].implementation)
    assert result.score == pytest.approx(2 / 3)  # both value probes agree, one of three probes does not


def test_calling_what_is_forbidden_earns_nothing(examiner):
    result = examiner.examine(one_exercise.calls_softmax)
    assert (result.state, result.score) == ("not_yet", 0.0)
    assert "You call torch's own softmax, which this exercise asks you to do without." in result.message


def test_a_probe_that_was_not_reached_counts_as_not_passed(examiner):
    seen = examiner.observations(one_exercise.affine)
    del seen["steep"]
    result = examiner.verdict(seen)
    assert (result.state, result.score) == ("stopped", 0.5)
    assert "did not get as far" in result.message


def test_a_broken_reference_is_our_fault_and_says_so():
    broken = type(one_exercise.exercise)(one_exercise.unstarted, section="", hints=[])
    broken.name, broken.probes = "affine", one_exercise.exercise.probes
    with pytest.raises(RuntimeError, match="the reference of affine fails its probe three_numbers"):
        _ = Examiner(broken).expected


def test_the_row_for_results_jsonl(examiner):
    row = examiner.examine(one_exercise.both_wrong).row("alice")
    assert " ".join(row) == "student exercise state score probes_passed probes misconception help line message seconds"
    assert (row["student"], row["exercise"], row["state"]) == ("alice", "affine", "not_yet")


def test_a_name_that_other_inputs_contradict_is_not_said(examiner):
    first = [tensor.float() for tensor in examiner.draws.values()]

    def by_luck(x, slope, offset):
        met_before = any(x.shape == tensor.shape and x.equal(tensor) for tensor in first)
        return (x / slope if met_before else x) + offset

    assert examiner.verdict(examiner.observations(by_luck)).misconceptions == ("slope_divides",)
    assert examiner.examine(by_luck).misconceptions == ()


def test_a_pair_is_named_only_where_each_of_the_two_shows(examiner):
    exercise = one_exercise.copied()

    @exercise.instead_of("shift")
    def shows_only_behind_another(y, offset):
        """You add the offset twice where it is larger than anything that is looked at.

        Nothing that is looked at is as large.
        """
        return y + offset + (offset if offset > 1e6 else 0)

    found = Examiner(exercise, "salt").examine(exercise.misconceptions["slope_divides"].implementation)
    assert found.misconceptions == ("slope_divides",)


@pytest.mark.parametrize("pairs", [True, False])
def test_an_exception_on_one_probe_does_not_hide_a_mistake(pairs):
    exercise = one_exercise.copied()

    @exercise.probe
    def gentle(affine):
        """a gentle slope"""
        return {"y": affine(normal(5, seed="x"), 0.25, 1.5)}

    def divides_and_stops(x, slope, offset):
        if slope > 50:
            raise IndexError("too steep")
        return x / slope + offset

    result = Examiner(exercise, "salt", pairs=pairs).examine(divides_and_stops)
    assert (result.state, result.misconceptions) == ("not_yet", ("slope_divides",))
    assert "Besides, it raised IndexError at test_diagnose.py, line " in result.message


def test_the_evidence_is_that_of_the_named_mistake():
    """The first check ends in an exception, which is another fault: the numbers come from one that shows this one."""

    def divides_and_stops(x, slope, offset):
        if len(x) == 3:
            raise IndexError("no three")
        return x / slope + offset

    exercise = one_exercise.copied()

    @exercise.probe
    def gentle(affine):
        """a gentle slope"""
        return {"y": affine(normal(5, seed="x"), 0.25, 1.5)}

    result = Examiner(exercise, "salt").examine(divides_and_stops)
    assert result.misconceptions == ("slope_divides",)
    assert result.situation != "three numbers"
    assert "expected" in result.evidence[0]
    assert "it raised IndexError at test_diagnose.py" in result.message
    assert "in this situation: three numbers." in result.message


def test_what_was_returned_is_said_and_not_that_something_was_raised(examiner):
    result = examiner.examine(lambda x, slope, offset: (x, offset))
    assert "affine returned a tuple of 2 values, expected a tensor of shape (3,)." in result.message
    assert "raised" not in result.message
    assert "NotATensor" not in result.message
    assert (result.state, result.help) == ("not_yet", "explained")


def test_a_remark_costs_nothing(examiner):
    exercise = one_exercise.copied()

    @exercise.remark
    def for_whole_numbers(affine):
        """whole numbers

        Whole numbers work too, by the way.
        """
        return {"y": affine(torch.arange(3), 2, 1)}

    def only_floats(x, slope, offset):
        return slope * x.float() + offset if x.is_floating_point() else None

    result = Examiner(exercise).examine(only_floats)
    assert (result.state, result.score, result.probes) == ("passed", 1.0, 3)
    assert result.remarks == ("Whole numbers work too, by the way.",)
    assert result.message.endswith("Remark: Whole numbers work too, by the way.")


def test_float32_inside_is_right_and_remarked(examiner):
    exercise = one_exercise.copied()
    exercise.property(same_in(torch.float64, lambda: (normal(5, seed="x"), 3.0, 1.0)))
    result = Examiner(exercise).examine(lambda x, slope, offset: (slope / 7 * x.float() * 7 + offset).to(x.dtype))
    assert result.state == "passed"
    assert "fewer digits than float64 gives" in result.remarks[0]


def test_a_deprecated_call_is_remarked(examiner):
    def old(x, slope, offset):
        warnings.warn("affine is old-fashioned", DeprecationWarning, stacklevel=1)
        return slope * x + offset

    assert examiner.examine(old).remarks == ("torch warns: affine is old-fashioned",)


def test_what_is_not_asked_for_is_told_without_an_exception_of_ours():
    class Line(torch.nn.Module):
        """A line."""

        def __init__(self):
            super().__init__()
            self.slope = torch.nn.Linear(3, 1)

        def forward(self, x):
            return self.slope(x)

    class Wider(Line):
        def __init__(self):
            super().__init__()
            self.another = torch.nn.Linear(3, 1)

    exercise = Exercise(Line, section="Lines", hints=["one", "two", "three"])

    @exercise.probe
    def of_three(line):
        """three numbers"""
        return {"y": seeded(line())(normal(2, 3, seed="x"))}

    result = Examiner(exercise).examine(Wider)
    assert result.state == "not_yet"
    assert "UnknownDraw" not in result.message
    assert "Line has `another.weight`, which is not asked for." in result.message
    assert "another.weight" in result.message


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("name", one_exercise.exercise.misconceptions)
def test_a_known_mistake_is_recognised_by_few_probes_as_by_all(name, pairs):
    known = one_exercise.exercise.misconceptions[name]
    examiner = Examiner(one_exercise.exercise, "a salt", pairs=pairs)
    assert examiner.diagnosed_as(known) == examiner.examine(known.implementation).misconceptions == (name,)


def test_what_the_checker_raised_over_a_return_value_is_not_shown():
    exercise = Exercise(one_exercise.affine, section="Lines", hints=["Think."])

    @exercise.probe
    def added(affine):
        """one number more"""
        return {"sum": affine(torch.ones(2), 2.0, 1.0) + 3}

    result = Examiner(exercise).examine(eval("lambda x, slope, offset: (x, x)"))  # of another file than the probe
    assert "affine returned a tuple of 2 tensors, expected a tensor of shape (2,)." in result.message
    assert "TypeError" not in result.message
    result = Examiner(exercise).examine(lambda x, slope, offset: x + torch.ones(3))
    assert "Sizes 2 and 3 meet in dimension 0: they have to be equal, or one of them 1." in result.message
