"""Chapter 04's figures: each says what it shows, and no label lies on another."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from matplotlib.figure import Figure

from qkv.figures import positions as draw


def title(fig: Figure) -> str:
    return fig.get_suptitle() or fig.axes[0].get_title(loc="left")


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.codes(torch.rand(12, 6)),
        lambda: draw.diagonals({"a": torch.rand(5, 5), "b": torch.rand(5, 5)}),
        lambda: draw.nearest_so_far({2: torch.rand(40) + 0.1, 4: torch.rand(40) + 0.1}),
        lambda: draw.rounding({name: ([1, 10], torch.rand(3, 2)) for name in "abcd"}, size=8.0),
        lambda: draw.one_clock_or_many({name: torch.rand(9) for name in "abc"}, wanted=3),
        lambda: draw.added_to_scores({"a: x": torch.rand(4, 4), "b: y": torch.full((4, 4), -math.inf).tril(-1)}),
    ],
)
def test_every_title_is_a_question(fig):
    assert title(fig()).endswith("?")


def test_one_scheme_has_one_scale():
    steep, flat = -8.0 * torch.rand(4, 4), -torch.rand(4, 4)
    fig = draw.added_to_scores({"ALiBi: head 1": steep, "ALiBi: head 4": flat})
    low = [ax.images[0].get_clim()[0] for ax in fig.axes if ax.images]
    assert low == [pytest.approx(float(steep.min()))] * 2


def test_names_stand_at_the_ends_of_their_curves_and_apart():
    ended = torch.tensor([[0.9, math.nan], [0.9, math.nan]])
    close = {name: torch.full((2, 2), 0.5 + 0.001 * i) for i, name in enumerate(("none", "sinusoidal", "RoPE"))}
    fig = draw.by_length({**close, "learned": ended}, [16, 32], "Who?", floor=0.1)
    texts = {text.get_text(): text for text in fig.axes[0].texts}
    assert "learned, ends here" in texts
    heights = sorted(texts[name].get_position()[1] for name in close)
    assert all(b - a > 0.04 for a, b in pairwise(heights))
