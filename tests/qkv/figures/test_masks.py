"""Chapter 05's drawings: they show the numbers that they are given."""

from __future__ import annotations

import json
import re

import pytest
import torch

from qkv.figures.interactive import Interactive
from qkv.figures.masks import errors_on_a_log_axis, influence, leak, mask_builder, masks_as_tables, pooled
from qkv.model.masks import causal_mask, combine_masks, masked_softmax, padding_mask

WORDS = ["the", "cat", "purred", "because", "it"]
VECTORS = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 0.0], [1.0, 0.0]])


def test_a_hidden_pair_is_crossed_out():
    fig = masks_as_tables({"causal": causal_mask(3), "padding": torch.tensor([[True, True, False]])}, "abc", "Who?")
    assert [len(axis.lines) for axis in fig.axes] == [2 * 3, 2 * 3]  # a cross is two lines
    assert [axis.get_title(loc="left") for axis in fig.axes] == ["causal", "padding"]


def test_what_does_not_move_is_crossed_out_and_the_rest_has_a_number():
    change = torch.tensor([[1.2, 0.25], [0.0, 0.5]])  # (changed token, output)
    axis = influence({"j ≤ i": change}, "Who moves?").axes[0]
    assert [text.get_text() for text in axis.texts] == ["1.2", ".25", ".50"]
    assert len(axis.lines) == 2
    cross = axis.lines[0].get_xdata().mean(), axis.lines[0].get_ydata().mean()
    assert cross == (1, 0)  # column: the token that was changed; row: the output


def test_curves_carry_their_names():
    fig = leak({"right": torch.rand(3, 5) + 1, "wrong": torch.rand(3, 5) + 1}, 2.079, "Can dice be predicted?")
    assert fig.axes[0].get_legend_handles_labels()[1] == ["right", "wrong", "guessing: ln 8 = 2.079"]
    fig = pooled([0, 1], {"over all": torch.rand(5, 2), "masked_mean": torch.zeros(5, 2)}, "Does it survive?")
    assert fig.axes[0].get_legend_handles_labels()[1] == ["over all", "masked_mean"]


def test_errors_are_dots_and_an_exact_zero_is_shown_too():
    axis = errors_on_a_log_axis({"none": [0.2, 0.3], "mask": [0.0, 1e-16]}, "Which?", "off by").axes[0]
    assert [list(line.get_xdata()) for line in axis.lines] == [[0.2, 0.3], [1e-17, 1e-16]]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["none", "mask"]


def builder() -> Interactive:
    return mask_builder(causal_mask, padding_mask, combine_masks, masked_softmax, WORDS, VECTORS, "Who may look?")


def test_the_builder_holds_what_the_functions_gave():
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', builder().html)
    assert found is not None
    data = json.loads(found[1])
    assert data["names"][2] == [["the", "cat", "purred", "·", "·"], ["·", "·", "the", "cat", "purred"]]
    right, left = data["weights"][2]  # two words are padding
    everything = torch.tensor(right[0][0][4]).reshape(5, 5)
    x = torch.cat([VECTORS[:3], torch.zeros(2, 2)])
    assert torch.equal(everything, (1000 * (x @ x.T / 2**0.5).softmax(-1)).round().int())
    both = torch.tensor(right[1][1][4]).reshape(5, 5)
    assert torch.equal(both >= 0, causal_mask(5) & torch.tensor([True, True, True, False, False]))
    near = torch.tensor(right[0][0][1]).reshape(5, 5)
    assert torch.equal(near >= 0, torch.ones(5, 5).tril(1).triu(-1).bool())
    assert left[1][1][4][:10] == [-1] * 10  # two rows that see nothing


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_builder_follows_its_controls(opened, width):
    page, errors = opened(builder(), width)
    assert page.inner_text(".said") == "12 of 25 pairs are allowed."
    page.locator("select[name=side]").select_option("left")
    assert "2 rows allow nothing" in page.inner_text(".said")
    page.locator("select[name=hide]").select_option("no")
    assert "of its attention to padding" in page.inner_text(".said")
    page.locator("input[name=pads]").fill("0")
    page.locator("select[name=causal]").select_option("no")
    assert page.inner_text(".said") == "25 of 25 pairs are allowed."
    page.locator("input[name=window]").fill("0")
    assert page.inner_text(".said") == "5 of 25 pairs are allowed."
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
