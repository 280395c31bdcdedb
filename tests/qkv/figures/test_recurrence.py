"""Chapter 10's figures: each asks its question, paths are as long as they say, and every number is a link."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from bs4 import BeautifulSoup
from matplotlib.figure import Figure

from qkv.figures import recurrence as draw
from qkv.model.recurrence import path_length

FOUR = ("RNN", "LSTM", "CNN", "Transformer")


def title(fig: Figure) -> str:
    return fig.get_suptitle() or fig.axes[0].get_title(loc="left")


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.ways(9),
        lambda: draw.gradients({name: torch.rand(3, 8) for name in "abc"}, {"RNN": torch.rand(3, 8)}),
        lambda: draw.layers_needed({"RNN": [3, 7], "attention": [1, 1]}, [4, 8]),
        lambda: draw.by_delay({name: torch.rand(3, 2) for name in FOUR}, [2, 8], chance=0.1, sees=5),
        lambda: draw.by_task({"parity": {name: torch.rand(3) for name in FOUR}}, chance=0.5),
        lambda: draw.times({32: {"RNN": [1.0, 2.0]}, 64: {"RNN": [1.0, 2.0]}}, [16, 32]),
        lambda: draw.kept({"RNN": [100, 200]}, [16, 32]),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    assert title(fig()).endswith("?")


@pytest.mark.parametrize("n", [5, 9, 10])
def test_paths_are_the_shortest(n: int) -> None:
    for name, steps in {
        "RNN": path_length("rnn", n),
        "CNN": path_length("cnn", n, 3),
        "attention": path_length("attention", n),
    }.items():
        path = draw.way(name, n)
        assert (path[0], path[-1][0]) == ((0, 0), n - 1)
        assert len(path) - 1 == steps
    reach = [later[0] - at[0] for at, later in pairwise(draw.way("CNN, dilated", n))]
    assert all(step <= 2 * 2**layer for layer, step in enumerate(reach))


def test_gradients_begin_at_one() -> None:
    norms = torch.tensor([[0.5, 1.0, 2.0], [2.0, 4.0, 8.0]])  # the last entry is at distance 0
    fig = draw.gradients(dict.fromkeys("abc", norms), {"RNN": norms})
    assert fig.axes[0].lines[0].get_ydata().tolist() == pytest.approx([1, 0.5, 0.25])


def test_curves_that_end_together_share_a_label() -> None:
    fig = draw.kept({"RNN": [100, 200], "CNN": [101, 204], "attention": [900, 3600]}, [16, 32])
    assert [text.get_text() for text in fig.axes[0].texts] == ["RNN, CNN", "attention"]


def test_a_row_of_the_scoreboard_links_to_its_claim_and_shows_its_best() -> None:
    rows = {"copy": ("it-copies", ["1.00", "0.15"]), "time": ("slow", ["2", "1"])}
    board = draw.Scoreboard(["RNN", "CNN <3>"], rows, larger_is_better=1)
    table = BeautifulSoup(board._repr_html_(), "html.parser")
    assert [cell.text for cell in table.select("thead th")] == ["", "RNN", "CNN <3>"]
    found = [(link.text, link["href"]) for link in table.select("tbody th > a")]
    assert found == [("copy", "#claim-it-copies"), ("time", "#claim-slow")]
    assert [cell.text for cell in table.select("tbody td")] == ["1.00", "0.15", "2", "1"]
    assert [best.text for best in table.select("td > strong")] == ["1.00", "1"]
    assert repr(board).splitlines() == ["      RNN   CNN <3>", "copy  1.00  0.15", "time  2     1"]
