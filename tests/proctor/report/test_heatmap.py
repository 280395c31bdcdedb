"""Pictures of a tensor that differs: what is wrong is marked, and said in words."""

from __future__ import annotations

import torch

from proctor.report.heatmap import CELL, colour, heat_maps


def test_three_pictures_with_the_wrong_cells_framed() -> None:
    expected = torch.arange(12.0).reshape(3, 4)
    yours = expected.clone()
    yours[1, 2] += 5
    html = heat_maps("weights", yours, expected)
    assert html.count("<svg") == 3
    assert html.count('stroke="currentColor"') == 1
    assert 'aria-label="your weights: 3 rows and 4 columns, 1 of 12 entries are wrong"' in html
    assert f'width="{4 * CELL}" height="{3 * CELL}"' in html


def test_the_matrix_with_the_most_mistakes_is_shown() -> None:
    expected = torch.zeros(2, 3, 4, 5)
    yours = expected.clone()
    yours[1, 2] = 1
    assert "x[1, 2]: orange is above 0" in heat_maps("x", yours, expected)


def test_other_shapes_and_no_numbers() -> None:
    html = heat_maps("x", torch.full((2, 3), float("nan")), torch.zeros(3, 2))
    assert html.count("<svg") == 2  # no difference can be taken
    assert html.count("<path") == 6
    assert heat_maps("x", torch.tensor(1.0), torch.tensor(2.0)) == ""
    assert heat_maps("x", torch.zeros(0), torch.zeros(0)) == ""
    assert heat_maps("<b>", torch.arange(3), torch.arange(3) + 1).count("&lt;b&gt;") >= 2


def test_colours() -> None:
    assert [colour(v, 1.0) for v in (1.0, -1.0, 0.0)] == ["#d95f02", "#2166ac", "#f7f7f7"]
