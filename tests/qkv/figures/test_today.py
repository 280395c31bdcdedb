"""Chapter 17's figures: each asks its question, shows what it is given, and the two that move compute what they say."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Wedge

from qkv.figures import today as draw
from qkv.figures.interactive import Interactive
from qkv.model.today import stretched_frequencies

RUNS = {"by parts": torch.tensor([[1.0, 0.9], [1.0, 0.8]]), "nothing": torch.tensor([[1.0, 0.5], [1.0, 0.4]])}
WORDS = ["a", "b", "c", "d", "e"]
P, Q = torch.tensor([0.5, 0.3, 0.1, 0.1, 0.0]), torch.tensor([0.2, 0.1, 0.1, 0.1, 0.5])


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.kept({"one": torch.tensor([0.3, 0.4]), "two": torch.tensor([0.9])}, "What is kept?"),
        lambda: draw.by_length(RUNS, [46, 182]),
        lambda: draw.bits({"a row": [(4.2, 0.1), (8.2, 0.01)]}),
        lambda: draw.still_clocks(16, 46, 10000.0, 184),
        lambda: draw.still_drafts(draw.shortened(P, Q, WORDS, 3)),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_bars_are_means_and_the_first_is_on_top() -> None:
    axis = draw.kept({"one": torch.tensor([0.3, 0.5]), "two": torch.tensor([0.9])}, "?").axes[0]
    assert [bar.get_width() for bar in axis.patches] == pytest.approx([0.4, 0.9])
    at = dict(zip((label.get_text() for label in axis.get_yticklabels()), axis.get_yticks(), strict=True))
    bottom, top = axis.get_ylim()
    assert abs(at["one"] - top) < abs(at["one"] - bottom)


def test_memory_is_a_mean_over_seeds_at_its_length() -> None:
    axis = draw.by_length(RUNS, [46, 182]).axes[0]
    assert axis.lines[0].get_xdata().tolist() == [46, 182]
    assert axis.lines[0].get_ydata().tolist() == pytest.approx([1.0, 0.85])
    assert draw.by_length({"nothing": torch.ones(1, 2)}, [46, 182]).axes  # of a single seed


def test_bits_stand_in_their_order() -> None:
    line = draw.bits({"a row": [(8.2, 0.01), (4.2, 0.1)]}).axes[0].lines[0]
    assert line.get_xdata().tolist() == [4.2, 8.2]
    assert line.get_ydata().tolist() == [0.1, 0.01]


@pytest.mark.parametrize("d", [4, 16])
def test_speeds_are_the_papers(d: int) -> None:
    plain, squeezed, based = (draw.speeds(way, 4.0, d, 46) for way in draw.WAYS[:3])
    for i in range(d // 2):
        assert plain[i].item() == pytest.approx(10000 ** (-2 * i / d))
        assert squeezed[i].item() == pytest.approx(10000 ** (-2 * i / d) / 4)
        assert based[i].item() == pytest.approx((10000 * 4 ** (d / (d - 2))) ** (-2 * i / d))
    assert based[0] == plain[0]  # the fastest keeps its speed
    assert based[-1].item() == pytest.approx(squeezed[-1].item())  # the slowest slows down by the whole factor


def test_a_dial_is_red_where_training_showed_nothing() -> None:
    for axis, i in zip(draw.still_clocks(16, 46, 10000.0, 184).axes, range(8), strict=True):
        wedges = [patch for patch in axis.patches if isinstance(patch, Wedge)]
        turns = 46 * 10000 ** (-i / 8) / (2 * math.pi)
        assert len(wedges) == (1 if turns >= 1 else 2)
        assert wedges[0].theta2 - wedges[0].theta1 == pytest.approx(360 * min(1, turns))


def test_the_likeliest_words_by_either_are_named_and_the_others_put_together() -> None:
    made = draw.shortened(P, Q, WORDS, 2)
    assert sorted(made["words"][:2]) == ["a", "e"]
    assert made["words"][2] == "others"
    assert made["p"][2] == pytest.approx(0.5)
    assert sum(made["p"]) == pytest.approx(1)
    assert sum(made["q"]) == pytest.approx(1)


def held(figure: Interactive) -> Any:
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', figure.html)
    assert found is not None
    return json.loads(found[1])


def test_what_the_pages_get_is_what_was_given() -> None:
    assert held(draw.clocks()) == {"d": 16, "base": 10000.0, "trained": 46, "slow": 1, "fast": 4}
    contexts = held(draw.drafts({"a name": (P, Q)}, WORDS, most=5))["contexts"]
    assert contexts[0]["name"] == "a name"
    assert dict(zip(contexts[0]["words"], contexts[0]["p"], strict=True))["a"] == 0.5


def strange(speeds: list[float], length: int) -> int:
    """How many pairs show an angle that texts of 46 words at the usual speeds did not."""
    seen = [min(46 * 10000 ** (-i / 8), 2 * math.pi) for i in range(8)]
    return sum(min(length * speed, 2 * math.pi) > arc + 1e-4 for speed, arc in zip(speeds, seen, strict=True))


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 900])
def test_the_clocks_turn_as_ours_do(opened: Any, width: int) -> None:
    page, errors = opened(draw.clocks(), width)
    for at, way in enumerate(draw.WAYS):
        page.select_option("select[name=how]", str(at))
        speeds = stretched_frequencies(16, 4.0, 46) if way == "by parts" else draw.speeds(way, 4.0, 16, 46)
        said = page.inner_text(".said")
        assert said.startswith(f"{strange(speeds.tolist(), 184)} of 8 pairs show angles")
        assert f"{math.degrees(speeds[0].item()):.1f} degrees" in said
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert errors == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 900])
def test_the_drafts_are_reckoned_by_the_formula(opened: Any, width: int) -> None:
    page, errors = opened(draw.drafts({"a name": (P, Q), "other": (P, P)}, WORDS, most=5), width)
    a = torch.minimum(P, Q).sum().item()
    words = (1 - a**4) / (1 - a)
    said = page.inner_text(".said")
    assert said.startswith(f"A draft is kept with probability {a:.2f}. With 3 drafts a call brings {words:.2f} words")
    assert said.endswith(f"costs 2.80 calls: {words / 2.8:.2f} times as fast. It does not pay.")
    page.select_option("select[name=context]", "1")
    assert page.inner_text(".said").endswith("brings 4.00 words and costs 2.80 calls: 1.43 times as fast. It pays.")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert errors == []
