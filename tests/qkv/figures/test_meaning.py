"""Chapter 14's figures: each asks its question, shows what it is given, and the two that move say what they show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure

from qkv.figures import meaning as draw
from qkv.figures.interactive import Interactive
from qkv.tasks import senses

VERBS, NOUNS = [f"verb{i}" for i in range(8)], [f"noun{i}" for i in range(8)]
AROUND = ["bank", *senses.MONEY, *senses.RIVER]


def vectors(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.map_of_words(vectors(len(senses.WORDS), 5), senses.WORDS, senses.GROUPS[5:], "bank"),
        lambda: draw.clouds(vectors(3, 10, 5), torch.arange(10) % 2),
        lambda: draw.by_layer("How much?", "share", {"one": torch.rand(3, 3), "two": torch.rand(3, 3)}),
        lambda: draw.agreement({"1 layer": {"weights": torch.rand(3)}, "3 layers": {"rollout": torch.rand(3)}}),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_a_plane_shows_the_two_directions_of_largest_spread() -> None:
    wide = vectors(40, 2) * torch.tensor([9.0, 4.0])
    turned = torch.linalg.qr(vectors(6, 6, seed=1))[0][:2]
    found = draw.flat(wide @ turned + 3)
    distances = torch.cdist(found, found)
    assert torch.allclose(distances, torch.cdist(wide, wide), atol=1e-4)
    assert found[:, 0].var() > found[:, 1].var()
    assert torch.allclose(draw.flat(-(wide @ turned)).abs(), found.abs(), atol=1e-4)
    assert torch.allclose(draw.flat((wide @ turned)[:3], by=wide @ turned), draw.flat(wide @ turned)[:3], atol=1e-4)


def test_all_words_of_the_map_are_named() -> None:
    axis = draw.map_of_words(vectors(len(senses.WORDS), 5), senses.WORDS, senses.GROUPS[7:], "bank").axes[0]
    assert {text.get_text() for text in axis.texts} == {", ".join(senses.MONEY), ", ".join(senses.RIVER), "bank"}


def moving_bank() -> Interactive:
    """Money lies at 0 and the river at 1; of what is tried, the noun alone decides."""
    sense = torch.arange(20) % 2
    seen = torch.stack(
        [torch.zeros(20, 5), sense[:, None] + 0.01 * vectors(20, 5), sense[:, None] + 0.01 * vectors(20, 5)]
    )
    tried = torch.zeros(3, 8, 8, 5)
    tried[1:, :, 4:] = 1.0
    return draw.which_bank(AROUND, vectors(9, 6), seen, sense, tried, (VERBS, NOUNS))


def mattering() -> tuple[Interactive, list[torch.Tensor]]:
    g = torch.Generator().manual_seed(4)
    shares = [torch.rand(3, 2, 5, 5, generator=g) for _ in range(3)]
    tokens = [["?", "7", "3", "9", "1"], ["?", "2", "8", "6", "4"]]
    return draw.who_mattered(tokens, *shares), shares


def data_of(figure: Interactive) -> Any:
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', figure.html)
    assert found is not None
    return json.loads(found[1])


def test_the_bank_of_a_sentence_goes_from_the_money_to_the_river() -> None:
    data = data_of(moving_bank())
    assert data["words"][0] == "bank"
    ways = torch.tensor(data["ways"])
    assert torch.equal(ways[0], torch.zeros(8, 8))  # before the first layer there is no way
    assert ways[1:, :, :4].abs().max() < 0.02
    assert (ways[1:, :, 4:] - 1).abs().max() < 0.02


def test_shares_are_packed_as_they_are() -> None:
    figure, shares = mattering()
    packed = data_of(figure)["shares"]
    for text, found in zip(packed, shares, strict=True):
        expected = (1000 * found / found.sum(-1, keepdim=True)).round().int().flatten().tolist()
        assert [int(text[2 * i : 2 * i + 2], 36) for i in range(len(expected))] == expected


@pytest.mark.parametrize(
    "still",
    [
        lambda: draw.still_bank(vectors(20, 5), torch.arange(20) % 2, torch.zeros(2)),
        lambda: draw.still_mattered(["?", "1", "2"], torch.rand(3, 3)),
    ],
)
def test_there_is_a_still_picture(still: Callable[[], Figure]) -> None:
    assert still().axes


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_a_bank_moves_with_the_noun_that_is_chosen(opened: Callable[..., Any], width: int) -> None:
    page, errors = opened(moving_bank(), width)
    assert "“she verb4 the noun4 at the bank today”: after layer 2, bank has gone 1.0" in page.inner_text(".said")
    ring = page.locator("circle.here")
    before = ring.get_attribute("cx"), ring.get_attribute("cy")
    page.locator("select[name=noun]").select_option("1")
    assert re.search(r"noun1 at the bank today”: after layer 2, bank has gone -?0\.0", page.inner_text(".said"))
    assert (ring.get_attribute("cx"), ring.get_attribute("cy")) != before
    page.locator("input[name=layer]").fill("0")
    assert "the same vector in every sentence" in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.browser
def test_a_word_is_dragged_into_the_sentence_or_clicked(opened: Callable[..., Any]) -> None:
    page, errors = opened(moving_bank(), 900)

    def centre(word: str) -> tuple[float, float]:
        box = page.locator("svg.drawing g", has=page.locator(f"text:text-is('{word}')")).bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    drawing = page.locator("svg.drawing").bounding_box()
    assert drawing is not None
    page.mouse.move(*centre("noun2"))
    page.mouse.down()
    page.mouse.move(drawing["x"] + 120, drawing["y"] + 20, steps=4)
    page.mouse.up()
    assert "verb4 the noun2" in page.inner_text(".said")
    page.mouse.move(*centre("verb1"))
    page.mouse.down()
    page.mouse.move(drawing["x"] + 400, drawing["y"] + 300, steps=4)  # let go elsewhere, it goes back
    page.mouse.up()
    assert "verb4 the noun2" in page.inner_text(".said")
    page.mouse.click(*centre("verb1"))
    assert "verb1 the noun2" in page.inner_text(".said")
    assert errors == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_two_that_move_most_are_looked_for(opened: Callable[..., Any], width: int) -> None:
    figure, shares = mattering()
    page, errors = opened(figure, width)

    def expected(layer: int, example: int, token: int) -> str:
        others = [i for i in range(5) if i != token]
        leaders = [set(found[layer, example, token, others].topk(2).indices.tolist()) for found in shares]
        weights, rollout = (len(leaders[k] & leaders[2]) for k in (0, 1))
        return f"the weights name {weights} first, rollout {rollout}."

    assert expected(2, 0, 0) in page.inner_text(".said")
    page.locator("input[name=layer]").fill("0")
    page.locator("input[name=example]").fill("1")
    assert expected(0, 1, 0) in page.inner_text(".said")
    page.locator("svg.drawing rect").nth(3).click()  # a token is asked by a click
    assert expected(0, 1, 3) in page.inner_text(".said")
    assert "position “6”" in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
