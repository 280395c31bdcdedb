"""Chapter 11's figures: each asks its question, shows what it is given, and the two that move compute what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure

from qkv.figures import cost as draw
from qkv.figures.interactive import Interactive
from qkv.model.cost import cache_bytes

N = [512, 1024]


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.costs({"full": [0.1, 0.4]}, {"full": [2.0, 8.0]}, N),
        lambda: draw.found({"full": torch.rand(3, 2), "linear": torch.rand(3, 2)}, [4, 16], 8),
        lambda: draw.against_length({"stored": [1.0, 4.0]}, N, "What is alive?", "megabytes"),
        lambda: draw.roofline({"prompt": 40.0, "token": 0.5}, {"a machine": 8.0}),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_time_and_bytes_stand_beside_each_other_with_lines_of_known_slope() -> None:
    left, right = draw.costs({"full": [0.1, 0.4], "window": [0.2, 0.4]}, {"full": [2.0, 8.0]}, N).axes
    assert [list(line.get_ydata()) for line in left.lines[:2]] == [[0.1, 0.4], [0.2, 0.4]]
    assert list(right.lines[0].get_ydata()) == [2.0, 8.0]
    linear, quadratic = (list(line.get_ydata()) for line in right.lines[1:])
    assert linear == pytest.approx([2.0, 4.0])
    assert quadratic == pytest.approx([2.0, 8.0])


def test_what_a_window_can_find_is_drawn_beside_what_was_found() -> None:
    axis = draw.found({"window": torch.tensor([[1.0, 0.5], [1.0, 0.6]])}, [4, 16], 8).axes[0]
    expected = axis.lines[0].get_ydata()
    assert (expected[0], expected[-1]) == (1.0, 0.5)
    assert axis.get_legend_handles_labels()[1] == ["8 of n seen", "window"]


def test_a_roof_rises_to_the_ratio_of_its_machine_and_is_flat_from_there() -> None:
    axis = draw.roofline({"prompt": 40.0, "token": 0.5}, {"small": 8.0, "large": 160.0}).axes[0]
    for line, dots, ridge in zip(axis.lines[:4:2], axis.lines[1:4:2], (8.0, 160.0), strict=True):
        assert list(line.get_xdata()) == [0.25, ridge, 320.0]
        assert list(line.get_ydata()) == [0.25 / ridge, 1, 1]
        assert list(dots.get_ydata()) == [min(1, 40 / ridge), 0.5 / ridge]
    assert [text.get_text() for text in axis.texts] == ["prompt", "token"]


def walk() -> Interactive:
    g = torch.Generator().manual_seed(3)
    return draw.tile_walk(torch.randn(6, 6, generator=g).clamp(-4, 4), torch.randn(6, generator=g), block=2, tiles=1)


def test_the_walk_holds_the_scores_and_values() -> None:
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', walk().html)
    assert found is not None
    data = json.loads(found[1])
    g = torch.Generator().manual_seed(3)
    assert torch.allclose(torch.tensor(data["scores"]), torch.randn(6, 6, generator=g).clamp(-4, 4), atol=0.006)
    assert len(data["values"]) == 6


@pytest.mark.parametrize("still", [lambda: draw.still_tiles(torch.randn(6, 6), 2, 1), draw.still_budget])
def test_there_is_a_still_picture(still: Callable[[], Figure]) -> None:
    assert still().axes


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_a_walk_without_rescaling_drifts_and_one_with_it_does_not(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(walk(), width)
    assert page.inner_text(".said").startswith("At any moment 12 of 36 scores exist. After 1 of 3 tiles every row")
    for tiles in range(6):
        page.locator("input[name=tiles]").fill(str(tiles))
        assert "every row has what the whole softmax over these keys would give" in page.inner_text(".said")
    page.locator("select[name=rescale]").select_option("no")
    assert re.search(r"[1-6] of 6 rows have drifted", page.inner_text(".said"))
    page.locator("input[name=block]").fill("5")  # one tile is everything: nothing to rescale
    assert "36 of 36 scores exist. After 1 of 1 tiles" in page.inner_text(".said")
    page.locator("select[name=causal]").select_option("yes")
    page.locator("input[name=block]").fill("1")
    page.locator("input[name=tiles]").fill("0")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_budget_counts_as_the_exercise_does(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(draw.memory_budget(), width)

    def shown() -> str:
        return " ".join(page.locator("svg text").all_text_contents())

    assert cache_bytes(32, 32, 32, 4096, 4096) == 2_147_483_648
    assert "weights 13 GB, cache 2.1 GB" in shown()
    assert "weights, gradients, Adam 103 GB, maps 34 GB" in shown()  # 16 bytes for each of 6.4 billion parameters
    said = page.inner_text(".said")
    assert "To write, it fits on a card of 24 GB. To train with every map stored, it fits on no card of 80 GB" in said
    assert "Left out: embeddings" in said
    page.locator("select[name=number]").select_option("4 bits")
    assert "weights 3.2 GB" in shown()
    assert "weights, gradients, Adam 103 GB, maps 34 GB" in shown()  # fewer bits are for writing
    page.locator("select[name=number]").select_option("float16")
    page.locator("input[name=groups]").fill("3")  # 8 groups
    assert cache_bytes(32, 32, 8, 4096, 4096) == 536_870_912
    assert "cache 537 MB" in shown()
    page.locator("input[name=length]").fill("7")
    page.locator("input[name=batch]").fill("7")
    assert "fits on no card of 80 GB" in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
