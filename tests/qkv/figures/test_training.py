"""Chapter 09's drawings: they show the numbers that they are given."""

from __future__ import annotations

import pytest
import torch

from qkv.figures.training import arrows, exponents, panels, reliability, scale_history, schedules, uncorrected


def test_a_schedule_marks_its_peak():
    axis = schedules({"short": torch.tensor([0.001, 0.002, 0.001])}, "Which?").axes[0]
    curve, peak = axis.lines
    assert curve.get_ydata() == pytest.approx([1, 2, 1])
    assert (peak.get_xdata()[0], peak.get_ydata()[0]) == (2, pytest.approx(2))
    assert axis.get_legend_handles_labels()[1] == ["short"]


def test_what_is_not_corrected_is_compared_with_1():
    axis = uncorrected({"β₂ = 0.98": torch.linspace(0.7, 1, 400)}, "What if?").axes[0]
    assert axis.get_xscale() == "log"
    assert list(axis.lines[-1].get_ydata()) == [1, 1]


@pytest.mark.parametrize("log_steps", [True, False])
def test_a_panel_for_each_kind_and_one_look_for_each_schedule(log_steps):
    runs = torch.rand(5, 120) + 0.5
    kinds = {"post-norm": {"warm-up": runs, "no warm-up": runs}, "pre-norm": {"no warm-up": runs}}
    fig = panels(kinds, "Who?", "loss", chance=2.3, log_steps=log_steps)
    left, right = fig.axes
    assert [axis.get_title(loc="left") for axis in fig.axes] == list(kinds)
    named = {line.get_label(): line for line in left.lines if not line.get_label().startswith("_")}
    assert list(named) == ["warm-up", "no warm-up"]
    again = next(line for line in right.lines if line.get_label() == "no warm-up")
    assert again.get_color() == named["no warm-up"].get_color()
    assert again.get_ydata() == pytest.approx(runs.log().mean(0).exp().numpy())
    assert len(right.lines) == 5 + 1 + 1  # the seeds, their mean, and chance


def test_an_honest_model_lies_on_the_diagonal():
    sure = torch.rand(20_000, generator=torch.Generator().manual_seed(0))
    right = torch.rand(20_000, generator=torch.Generator().manual_seed(1)) < sure
    (axis,) = reliability({"a task": {"honest": (sure, right)}}, "Is it?").axes
    x, y = axis.lines[1].get_data()
    assert len(x) == 10
    assert y == pytest.approx(x, abs=0.05)


def test_bins_with_few_answers_are_left_out():
    sure = torch.tensor([0.95] * 100 + [0.15] * 3)
    (axis,) = reliability({"a task": {"sure": (sure, sure > 0.5)}}, "Is it?").axes
    assert axis.lines[1].get_xdata() == pytest.approx([0.95])


def test_arrows_end_where_they_should():
    fig = arrows([6.0, 1.5], {"together": [2.0, 0.5], "apart": [2.0, 1.5]}, 2.0, "Which?")
    ends = [[tuple(note.xy) for note in axis.texts] for axis in fig.axes]
    assert ends == [[(6.0, 1.5), (2.0, 0.5)], [(6.0, 1.5), (2.0, 1.5)]]
    assert all(axis.patches[0].radius == 2.0 for axis in fig.axes)


def test_what_float16_loses_is_grey():
    numbers = torch.tensor([2.0**-30, 2.0**-20, 0.0, -(2.0**-20), 1.0])
    top, bottom = exponents({"as they are": numbers, "scaled": numbers * 2**16}, "What?").axes
    bars = {round(bar.get_x()): bar for bar in top.patches if bar.get_height() > 0 and bar.get_width() < 1}
    assert {x: bar.get_height() for x, bar in bars.items()} == {-30: 0.25, -20: 0.5, 0: 0.25}
    assert bars[-30].get_facecolor() != bars[-20].get_facecolor() == bars[0].get_facecolor()
    shifted = [round(bar.get_x()) for bar in bottom.patches if bar.get_height() > 0 and bar.get_width() < 1]
    assert shifted == [-14, -4, 16]


def test_skipped_steps_are_marked():
    axis = scale_history([8.0, 4.0, 4.0, 8.0], [1], "How large?").axes[0]
    path, marks = axis.lines
    assert list(path.get_ydata()) == [3, 2, 2, 3]
    assert (list(marks.get_xdata()), list(marks.get_ydata())) == ([1], [3])
