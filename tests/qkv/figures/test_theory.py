"""Chapter 15's figures: each asks its question, shows what it is given, and the two that move compute what they say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures import theory as draw
from qkv.model.theory import bracket_state, select_aggregate


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.patterns({"a": torch.eye(3), "b": torch.eye(3)}, "Where does it look?", columns=2),
        lambda: draw.automaton(torch.ones(3, 4), "Who is alive?"),
        lambda: draw.curves({"one": ([1.0, 2.0], torch.rand(3, 2))}, "How much?", "across", "up"),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_every_pattern_has_its_picture_and_its_words() -> None:
    fig = draw.patterns({"a": torch.eye(2), "b": torch.zeros(2, 2)}, "Where?", columns=2, ticks=["x", "y"])
    assert [ax.get_title() for ax in fig.axes] == ["a", "b"]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["x", "y"]
    picture = fig.axes[1].images[0].get_array()
    assert picture is not None
    assert picture.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def heights(line: Any) -> list[float]:
    return [float(y) for y in line.get_ydata()]


def test_a_curve_is_a_mean_and_on_a_logarithmic_axis_that_of_logarithms() -> None:
    numbers = torch.tensor([[1.0, 4.0], [100.0, 4.0]])
    plain = draw.curves({"one": ([1, 2], numbers)}, "?", "x", "y").axes[0].lines[0]
    logarithmic = draw.curves({"one": ([1, 2], numbers)}, "?", "x", "y", log_y=True).axes[0].lines[0]
    assert heights(plain) == pytest.approx([50.5, 4.0])
    assert heights(logarithmic) == pytest.approx([10.0, 4.0])


def test_lengths_are_named_where_they_were_measured_and_a_level_is_drawn() -> None:
    fig = draw.curves({"one": ([16, 4096], torch.rand(1, 2))}, "?", "n", "y", log_x=True, line=(0.5, "chance"))
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["16", "4,096"]
    legend = fig.axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["chance", "one"]


@pytest.mark.parametrize("still", [draw.still_bench, lambda: draw.still_needle(64, 3.0)])
def test_there_is_a_still_picture(still: Callable[[], Figure]) -> None:
    assert still().axes


def ours(text: str, program: str) -> Tensor:
    """What our own select_aggregate makes of a preset."""
    tokens = text.split()
    codes = torch.tensor([ord(token) for token in tokens])
    positions = torch.arange(len(tokens))
    if program == "count":
        first = (positions == 0).double()
        first_code = codes[0]
        return select_aggregate(codes, codes, first, lambda q, k: (k == q) | (k == first_code))
    steps = (codes == ord("(")).double() - (codes == ord(")")).double()
    return select_aggregate(positions, positions, steps, torch.ge)


def averages(page: Any) -> list[str]:
    found = re.search(r"The averages are (.*?)\.(?: |$)", page.inner_text(".said"))
    assert found is not None
    return found[1].replace("−", "-").split(", ")


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_programs_of_the_bench_do_what_the_exercise_does(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(draw.rasp_bench(), width)
    assert averages(page) == ["!", "o", "l", "l", "e", "h"]
    for number, program in ((1, "count"), (2, "brackets")):
        page.locator("select[name=program]").select_option(str(number))
        expected = ours(draw.PROGRAMS[program][0], program)
        assert [float(word) for word in averages(page)] == pytest.approx(expected.tolist(), abs=0.006)
    assert "the brackets close" in page.inner_text(".said")
    page.locator("select[name=text]").select_option("3")
    lost = bracket_state(torch.tensor([{"(": 1, ")": 2}[token] for token in draw.TEXTS[3].split()])) == 2
    assert f"Below 0 at position {int(lost.long().argmax())}" in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.browser
def test_touching_a_program_makes_it_your_own_and_choosing_it_again_restores_it(opened: Callable[..., Any]) -> None:
    page, errors = opened(draw.rasp_bench(), 900)
    page.locator("select[name=predicate]").focus()
    page.keyboard.press("End")  # every key
    assert page.locator("select[name=program]").input_value() == str(len(draw.PROGRAMS))
    assert "no token" in page.inner_text(".said")
    page.locator("select[name=program]").select_option("0")
    assert page.locator("select[name=predicate]").input_value() == "0"
    assert averages(page)[0] == "!"
    page.locator("select[name=queries]").select_option("0")  # letters against numbers
    assert "select nothing" in page.inner_text(".said")
    assert errors == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_needle_has_the_weight_that_a_softmax_gives_it(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(draw.needle(64, 3.0), width)
    for n, gap in ((64, 3.0), (4096, 3.0), (4096, 10.0)):
        page.locator("input[name=n]").fill(str(draw.LENGTHS.index(n)))
        page.locator("input[name=gap]").fill(str(draw.GAPS.index(gap)))
        scores = torch.zeros(n, dtype=torch.float64)
        scores[0] = gap
        assert f"weight is {scores.softmax(0)[0].item():.3f} among {n:,} keys" in page.inner_text(".said")
        needed = math.log((n - 1) * 9)
        assert f"a gap of {needed:.2f}." in page.inner_text(".said")
        scores[0] = needed
        assert scores.softmax(0)[0].item() == pytest.approx(0.9)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
