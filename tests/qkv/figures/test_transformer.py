"""Chapter 08's drawings: they show the numbers that they are given, and Chinese numerals have glyphs."""

from __future__ import annotations

import warnings

import torch

from qkv.figures.transformer import alignments, by_words, learning, machine, paths, shares
from qkv.tasks.numbers import DIGITS, UNITS

TREE = {"": {"十": 0.55, "一": 0.45}, "十": {"万": 0.4, "五": 0.6}, "一": {"万": 0.9, "千": 0.1}}


def words(fig):
    return [text.get_text() for axis in fig.axes for text in axis.texts]


def test_the_machine_names_its_parts():
    said = words(machine("Which way?"))
    assert said.count("embed: row · √d + position") == 2
    assert {"norm, self-attention", "norm, causal attention", "norm, cross-attention"} <= set(said)
    assert {"queries", "keys,\nvalues"} <= set(said)


def test_every_sublayer_of_the_machine_has_a_residual_connection():
    said = words(machine("Which way?"))
    assert said.count("+") == sum(text.startswith("norm, ") for text in said) == 5


def test_loss_and_accuracy_of_each_seed():
    left, right = learning(torch.ones(3, 5), [2, 5], torch.tensor([[0.0, 1.0]] * 3), "When?").axes
    assert len(left.lines) == len(right.lines) == 3
    assert list(right.lines[0].get_xdata()) == [2, 5]
    assert right.get_legend_handles_labels()[1] == ["seed 0", "seed 1", "seed 2"]


def test_bars_are_means_and_dots_are_seeds():
    axis = by_words(torch.tensor([[0.0, 1.0], [0.5, 1.0]]), [6, 2_000], "Which?").axes[0]
    assert [bar.get_height() for bar in axis.patches] == [0.25, 1.0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1\n6", "2\n2,000"]
    assert axis.lines[1].get_ydata().tolist() == [0.5, 1.0]


def test_every_numeral_has_a_glyph():
    signs = [*DIGITS, *(unit for unit in UNITS if unit)]
    weights = torch.eye(len(signs))[:, :2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a missing glyph
        fig = alignments([(weights, signs, ["twelve", "␣"])], "Where?")
        fig.canvas.draw()
    assert [label.get_text() for label in fig.axes[0].get_yticklabels()] == signs
    assert fig.axes[0].images[0].get_array().tolist() == weights.tolist()


def test_parts_stand_side_by_side_in_millions():
    fig = shares({"a": {"x": 1_000_000, "y": 3_000_000}, "b": {"x": 2_000_000, "y": 500_000}}, "How many?")
    bars = fig.axes[0].patches
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(0, 1), (1, 3), (0, 2), (2, 0.5)]
    assert {"4.0", "2.5"} <= set(words(fig))


def test_a_path_shows_the_probability_of_the_whole():
    said = words(paths(TREE, "十五", "一万", "Which?"))
    assert {"0.33", "0.405", "0.22", "greedy", "beam"} <= set(said)
