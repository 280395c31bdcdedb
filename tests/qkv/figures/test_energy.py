"""Chapter 13's figures: each asks its question, shows what it is given, and the two that move compute what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure

from qkv.figures import energy as draw
from qkv.figures.interactive import Interactive
from qkv.model.energy import hopfield_retrieve, kernel_regression, variational_objective

SCORES = torch.tensor([1.0, 0.0, 2.0])


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.simplex(variational_objective, SCORES, [0.3, 3.0]),
        lambda: draw.remembered({"classical": ([2, 8], torch.rand(3, 2)), "one": ([16, 64], torch.rand(3, 2))}),
        lambda: draw.bound({"pairs": torch.rand(3, 2)}, [2, 8]),
        lambda: draw.pulled([0, 10], {"cosine": torch.rand(3, 2)}),
        lambda: draw.gallery(torch.rand(2, 4, 4), ["a", "b"]),
        lambda: draw.by_temperature({"250 steps": {0.1: torch.rand(3), 1.0: torch.rand(3)}}),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_the_best_point_of_a_triangle_lies_where_the_softmax_is() -> None:
    for axis in draw.simplex(variational_objective, SCORES, [0.3, 1.0, 3.0]).axes:
        cross, ring = ([line.get_xdata()[0], line.get_ydata()[0]] for line in axis.lines)
        assert torch.dist(torch.tensor(cross), torch.tensor(ring)) < 0.02


def test_another_question_has_another_best_point() -> None:
    """The cross is found by looking, not drawn where it should be."""
    axis, *_ = draw.simplex(lambda p, scores, beta: -(p * scores).sum(-1), SCORES, [1.0, 2.0]).axes
    assert (axis.lines[0].get_xdata()[0], axis.lines[0].get_ydata()[0]) == pytest.approx((1.0, 0.0))  # the lowest score


def test_steps_are_named_from_0() -> None:
    axis = draw.pulled([0, 10], {"cosine": torch.rand(3, 2)}).axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["0", "10"]


def points() -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(3)
    return 5 * torch.rand(12, generator=g), torch.randn(12, generator=g)


def moving() -> Interactive:
    return draw.regression(*points(), torch.sin)


def test_the_regression_holds_its_points() -> None:
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', moving().html)
    assert found is not None
    data = json.loads(found[1])
    assert torch.allclose(torch.tensor([data["x"], data["y"]]), torch.stack(points()), atol=6e-4)
    assert len(data["truth"]) == 101


@pytest.mark.parametrize(
    "still",
    [
        lambda: draw.still_landscape(2.0, 0.4, 0.6),
        lambda: draw.still_regression(*points(), torch.zeros(5), torch.linspace(0, 5, 5), 0.3),
    ],
)
def test_there_is_a_still_picture(still: Callable[[], Figure]) -> None:
    assert still().axes


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_a_state_ends_where_the_exercise_says(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(draw.landscape(), width)

    def said_by_ours(beta: float) -> int:
        """Which pattern is nearest where our own update comes to rest."""
        patterns = torch.tensor(draw.LAYOUTS["four apart"])
        end = hopfield_retrieve(torch.tensor([0.4, 0.6]), patterns, beta, 60)
        return int(torch.softmax(beta * patterns @ end, 0).argmax()) + 1

    assert f"at pattern {said_by_ours(2.0)}, which has" in page.inner_text(".said")
    page.locator("input[name=beta]").fill("0")
    assert "near the mean of all patterns" in page.inner_text(".said")
    page.locator("input[name=beta]").fill("5")
    page.locator("select[name=layout]").select_option("1")
    page.locator("input[name=x]").fill("20")
    page.locator("input[name=y]").fill("16")
    assert "between patterns" in page.inner_text(".said")  # two lie close together
    page.locator("input[name=beta]").fill("11")
    assert re.search(r"at pattern [12]", page.inner_text(".said"))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.browser
def test_a_pattern_can_be_dragged_and_the_state_follows(opened: Callable[..., Any]) -> None:
    page, errors = opened(draw.landscape(), 900)
    path = "svg.drawing path"
    before = page.locator(path).first.get_attribute("d")
    handle = page.locator("circle:has(title)").nth(0)  # pattern 1, where the state ends
    box = handle.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 40, box["y"] + 60, steps=4)
    page.mouse.up()
    assert page.locator(path).first.get_attribute("d") != before
    page.locator("select[name=layout]").select_option("1")
    page.locator("select[name=layout]").select_option("0")  # chosen again, patterns are where they were
    assert page.locator(path).first.get_attribute("d") == before
    assert errors == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_regression_is_the_exercise_s(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(moving(), width)
    x, y = points()
    places = torch.linspace(0, 5, 101)[:, None]
    for at, bandwidth in ((5, 0.3), (9, 1.0)):
        page.locator("input[name=bandwidth]").fill(str(at))
        found = kernel_regression(places, x[:, None], y[:, None], bandwidth)
        error = (found - torch.sin(places)).square().mean().sqrt().item()
        assert f"off by {error:.2f} on average" in page.inner_text(".said")
    page.locator("input[name=bandwidth]").fill("0")
    assert "hears one point" in page.inner_text(".said")
    page.locator("input[name=query]").fill("30")
    assert page.inner_text(".said").startswith("At 3.0 the query")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
