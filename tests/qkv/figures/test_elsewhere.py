"""Chapter 16's figures: each asks its question, shows what it is given, and the two that move compute what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures import elsewhere as draw
from qkv.figures.interactive import Interactive
from qkv.model.elsewhere import motif_scores, scaled_error, time_split
from qkv.tasks.motifs import ids_of

FOUND = {"bag of words": torch.tensor([0.48, 0.52]), "attention": torch.tensor([0.99, 1.0])}


def prices() -> Tensor:
    return 100 + torch.randn(160, generator=torch.Generator().manual_seed(5)).cumsum(0)


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.forecasts(torch.rand(9), 50, {"honest": {52: torch.rand(3)}, "leak": {52: torch.rand(3)}}),
        lambda: draw.readers(FOUND),
        lambda: draw.errors({"walk": FOUND, "season": FOUND}, {"walk": "attention", "season": "bag of words"}),
        lambda: draw.gallery(torch.rand(4, 3, 4, 4), ["a", "b", "c", "d"]),
        lambda: draw.found({"trained": torch.rand(5, 5), "constant": torch.ones(5, 5)}),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_a_forecast_begins_at_the_last_value_that_was_known() -> None:
    x = torch.arange(9.0)
    for axis in draw.forecasts(x, 50, {"a": {52: torch.tensor([7.0, 8.0])}, "b": {54: torch.tensor([1.0, 2.0])}}).axes:
        said = axis.lines[1]
        assert said.get_ydata()[0] == x[int(said.get_xdata()[0]) - 50]
        assert len(said.get_ydata()) == 3


def test_the_line_stands_at_the_forecast_that_is_to_be_beaten() -> None:
    axis, other = draw.errors({"w": FOUND, "s": FOUND}, {"w": "attention", "s": "bag of words"}).axes
    assert axis.lines[0].get_xdata()[0] == pytest.approx(0.995)
    assert other.lines[0].get_xdata()[0] == pytest.approx(0.5)


def test_the_first_row_is_on_top() -> None:
    axis = draw.readers(FOUND).axes[0]
    at = dict(zip((label.get_text() for label in axis.get_yticklabels()), axis.get_yticks(), strict=True))
    assert at["bag of words"] > at["attention"]


@pytest.mark.parametrize(
    "still", [lambda: draw.still_split(prices(), 112, 3), lambda: draw.still_strip("AGATAA", 2)], ids=["split", "strip"]
)
def test_there_is_a_still_picture(still: Callable[[], Figure]) -> None:
    assert still().axes


def held(figure: Interactive) -> Any:
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', figure.html)
    assert found is not None
    return json.loads(found[1])


def test_the_strip_s_scores_are_the_exercise_s() -> None:
    for name, motif in draw.MOTIFS.items():
        forward, backward = motif_scores(ids_of(draw.STRIP), draw.worth(motif))
        for ours, drawn in zip((forward, backward), draw.both_strands(motif), strict=True):
            assert torch.allclose(ours, torch.tensor(drawn), atol=1e-4)
        assert torch.allclose(torch.tensor(held(draw.dna_strip())["worth"][name]), draw.worth(motif), atol=1e-4)


def test_two_motifs_are_on_both_strands_and_one_is_its_own_reverse() -> None:
    gata, _, e_box = (draw.both_strands(motif) for motif in draw.MOTIFS.values())
    best = max(gata[0])
    assert max(gata[1]) == pytest.approx(best)
    assert gata[0].index(max(gata[0])) != gata[1].index(max(gata[1]))
    assert e_box[0] == pytest.approx(e_box[1])


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_strip_says_what_the_exercise_says(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(draw.dna_strip(), width)
    for at, name in ((2, "AGATAA (GATA)"), (18, "AGATAA (GATA)"), (10, "CACGTG (E-box)")):
        page.locator("select[name=motif]").select_option(str(list(draw.MOTIFS).index(name)))
        page.locator("input[name=at]").fill(str(at))
        forward, backward = motif_scores(ids_of(draw.STRIP), draw.worth(draw.MOTIFS[name]))
        said = page.inner_text(".said")
        assert f"reads {draw.STRIP[at : at + 6]} and scores {forward[at]:.1f}" in said
        assert f"and scores {backward[at]:.1f}." in said
        assert said.startswith(f"Bases {at + 1} to {at + 6}:")
    assert "its own reverse complement" in page.inner_text(".said")
    page.locator("input[name=at]").press("ArrowRight")
    assert page.inner_text(".said").startswith("Bases 12 to 17:")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.browser
def test_the_cursor_follows_the_pointer(opened: Callable[..., Any]) -> None:
    page, errors = opened(draw.dna_strip(), 900)
    box = page.locator("svg.drawing").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * (20 + 3) / len(draw.STRIP), box["y"] + 100)
    assert page.inner_text(".said").startswith("Bases 21 to 26:")
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 100)
    assert page.inner_text(".said").startswith(f"Bases {len(draw.STRIP) - 5} to {len(draw.STRIP)}:")
    assert errors == []
    page.close()


def said_by_ours(x: Tensor, cut: int, horizon: int, leak: bool) -> str:
    """Counts and errors of the price's figure, by the exercises."""
    context = draw.CONTEXT
    train, test = time_split(len(x), context, horizon, cut)
    windows = x.double().unfold(0, context + horizon, 1)
    seen = windows if leak else windows[:, :context]
    mean, deviation = seen.mean(1, keepdim=True), seen.std(1, keepdim=True)
    z = (windows - mean) / deviation
    inputs = torch.cat([z[:, :context], torch.ones(len(z), 1, dtype=z.dtype)], 1)
    table = inputs[train].T @ inputs[train] + torch.eye(context + 1, dtype=z.dtype)
    weights = torch.linalg.solve(table, inputs[train].T @ z[train][:, context:])
    linear = (inputs @ weights * deviation + mean)[test]
    actual = windows[test][:, context:]
    naive = windows[test][:, context - 1 : context].expand_as(actual)
    error = [scaled_error(f.flatten(), actual.flatten(), x[:cut].double()).item() for f in (naive, linear)]
    neither = len(windows) - len(train) - len(test)
    return (
        f"{len(train)} windows to learn from, {neither} in neither, {len(test)} to be tested on. Scaled error: "
        f"last value repeated {error[0]:.2f}, linear forecast {error[1]:.2f}."
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_split_and_its_errors_are_the_exercises(opened: Callable[..., Any], width: int) -> None:
    figure = draw.price_split(prices())
    page, errors = opened(figure, width)
    x = torch.tensor(held(figure)["x"])
    assert said_by_ours(x, 112, 3, leak=False) in page.inner_text(".said")
    page.locator("select[name=scaling]").select_option("1")
    assert said_by_ours(x, 112, 3, leak=True) in page.inner_text(".said")
    assert "know its future" in page.inner_text(".said")
    page.locator("input[name=horizon]").fill("5")
    page.locator("input[name=cut]").fill("2")
    assert said_by_ours(x, 56, 8, leak=True) in page.inner_text(".said")
    page.locator("input[name=cut]").press("ArrowRight")
    assert said_by_ours(x, 60, 8, leak=True) in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.browser
def test_the_cut_can_be_dragged(opened: Callable[..., Any]) -> None:
    page, errors = opened(draw.price_split(prices()), 900)
    before = page.inner_text(".said")
    box = page.locator("circle:has(title)").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] - 120, box["y"] + 12, steps=4)
    page.mouse.up()
    dragged = page.inner_text(".said")
    assert dragged != before
    page.mouse.move(box["x"] + 60, box["y"] + 12)  # let go, it stays
    assert page.inner_text(".said") == dragged
    assert errors == []
    page.close()
