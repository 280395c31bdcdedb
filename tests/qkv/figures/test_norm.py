"""Chapter 06's drawings: they show the numbers that they are given."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch

from qkv.figures.interactive import Interactive
from qkv.figures.norm import against_sigma, by_batch_size, gradients_by_depth, learning, rows_and_columns


def test_one_row_and_one_column_are_framed():
    left, right = rows_and_columns(torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, 1.5]]), "Whose mean?").axes
    assert [text.get_text() for text in left.texts] == ["1.0", "−2.0", "0.5", "0.0", "3.0", "1.5"]
    assert (left.patches[0].get_width(), left.patches[0].get_height()) == (3, 1)
    assert (right.patches[0].get_width(), right.patches[0].get_height()) == (1, 2)


def test_curves_carry_their_names():
    sizes = {"ε = 0": torch.rand(3, 2) + 1, "ε = 1e-5": torch.rand(3, 2) + 1}
    assert against_sigma([1.0, 0.1], sizes, "Does it?").axes[0].get_legend_handles_labels()[1] == list(sizes)
    axis = by_batch_size([2, 64], sizes, "Do they?").axes[0]
    assert axis.get_legend_handles_labels()[1] == list(sizes)
    assert [label.get_text() for label in axis.get_xticklabels()] == ["2", "64"]


def test_a_panel_for_each_depth():
    runs = {"pre-norm": torch.rand(3, 5) + 1, "post-norm": torch.rand(3, 5) + 1}
    fig = learning({2: runs, 8: runs}, 2.3, "Does it learn?")
    assert [axis.get_title(loc="left") for axis in fig.axes] == ["2 layers", "8 layers"]
    assert fig.axes[0].get_legend_handles_labels()[1] == ["pre-norm", "post-norm"]


def made() -> Interactive:
    factors = {"pre-norm": 2.0, "post-norm": 1.0, "no norm": 1e5}
    sizes: dict[str, Any] = {
        measure: {
            name: {depth: torch.full((3, depth), factor) * torch.tensor([[0.5], [1.0], [2.0]]) for depth in (2, 6)}
            for name, factor in factors.items()
        }
        for measure in ("the stream", "the weights")
    }
    return gradients_by_depth(sizes, 6, "Which gradient changes?")


def test_what_moves_holds_the_means_over_seeds():
    figure = made()
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', figure.html)
    assert found is not None
    sizes = json.loads(found[1])["sizes"]
    assert sizes["the stream"]["pre-norm"] == {"2": [2.0] * 2, "6": [2.0] * 6}
    assert sizes["the weights"]["no norm"]["2"] == [1e5] * 2
    assert "2.0 times its size in pre-norm" in figure.alt


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_it_follows_its_controls(opened, width):
    page, errors = opened(made(), width)
    assert page.inner_text(".said").startswith("6 layers.")
    assert page.inner_text(".said").endswith("2 (pre-norm), 1 (post-norm).")
    page.locator("input[name=depth]").fill("0")
    page.locator("select[name=without]").select_option("shown")
    assert page.inner_text(".said").startswith("2 layers.")
    assert "1·10^5 (no norm)" in page.inner_text(".said")
    page.locator("select[name=measure]").select_option("the weights")
    assert page.inner_text(".said").endswith("In the last layer: 2 (pre-norm), 1 (post-norm), 0.5 times as much.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
