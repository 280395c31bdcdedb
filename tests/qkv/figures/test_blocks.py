"""Chapter 07's drawings: they show the numbers that they are given."""

from __future__ import annotations

import pytest
import torch

from qkv.figures.blocks import activations, by_width, collapse, who_pays


def named(axis):
    return axis.get_legend_handles_labels()[1]


def test_activations_are_drawn_twice_from_afar_and_close():
    x = torch.linspace(-4, 4, 9)
    fig = activations(x, {"identity": x, "square": x**2}, "What?")
    wide, close = fig.axes
    assert named(wide) == ["identity", "square"]
    assert wide.lines[1].get_ydata().tolist() == (x**2).tolist()
    assert close.lines[0].get_xdata().tolist() == [-2, -1, 0, 1, 2]


def test_accuracies_are_means_over_seeds_at_their_widths():
    axis = by_width([2, 8], {"plain": torch.tensor([[0.4, 0.6], [0.6, 0.8]])}, "How wide?").axes[0]
    assert named(axis) == ["plain", "guessing"]
    assert axis.lines[0].get_ydata().tolist() == pytest.approx([0.5, 0.7])
    assert [label.get_text() for label in axis.get_xticklabels()] == ["2", "8"]


def test_what_is_below_rounding_is_drawn_at_its_edge():
    axis = collapse({"no skips": torch.tensor([[1.0, 1e-4, 0.0], [1.0, 1e-6, 0.0]])}, "Where do they go?").axes[0]
    assert axis.lines[-1].get_ydata().tolist() == pytest.approx([1.0, 1e-5, 1e-16])
    assert named(axis) == ["no skips"]


def test_shares_are_stacked():
    axis = who_pays([1, 2], {"a": [0.25, 0.5], "b": [0.75, 0.5]}, "Who pays?").axes[0]
    assert [list(line.get_ydata()) for line in axis.lines] == [[0.25, 0.5], [1.0, 1.0]]
    assert named(axis) == ["a", "b"]
