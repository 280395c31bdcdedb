"""Chapter 01's drawings: they show the numbers that they are given."""

from __future__ import annotations

import json
import re

import matplotlib.pyplot as plt
import pytest
import torch

from qkv.figures.interactive import Interactive
from qkv.figures.lookup import (
    attention_maps,
    landscape,
    learning,
    query_dial,
    sentence_playground,
    sharpness,
    together,
    word_plane,
)
from qkv.model.lookup import soft_lookup

WORDS = ["the", "cat", "purred", "because"]
KEYS = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
VALUES = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [0.0, 0.0]])


def texts(fig: plt.Figure) -> list[str]:
    return [text.get_text() for axis in fig.axes for text in axis.texts]


def test_words_in_one_place_share_a_label():
    assert together(WORDS, KEYS) == {(0.0, 0.0): "the, because", (2.0, 0.0): "cat", (0.0, 2.0): "purred"}


def test_the_plane_names_the_words_and_their_weights():
    fig = word_plane(WORDS, KEYS, torch.tensor([1.0, 0.0]), torch.tensor([0.1, 0.6, 0.2, 0.1]), "A title")
    assert {"the, because", "cat", "purred", "0.600", "0.200"} <= set(texts(fig))
    assert fig._suptitle is not None
    assert fig._suptitle.get_text() == "A title"


def test_a_map_has_a_number_in_each_cell_and_may_have_other_columns_than_rows():
    weights = torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
    fig = attention_maps({"Who looks?": weights}, ["a", "b"], ["x", "y", "z"])
    assert texts(fig) == [".25", ".75", ".00", ".00", ".00", "1"]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["x", "y", "z"]


def test_curves_that_coincide_share_a_label():
    lengths = torch.linspace(0, 2, 5)
    weights = soft_lookup(lengths[:, None] * torch.tensor([[1.0, 0.0]]), KEYS, torch.eye(4))
    labels = sharpness(lengths, weights, WORDS, "How sharp?").axes[0].get_legend_handles_labels()[1]
    assert labels == ["the, purred, because", "cat"]


def test_landscapes_and_learning_curves_carry_their_names():
    fig = landscape(torch.arange(3.0), {"hard": torch.zeros(3), "soft": torch.ones(3)}, "Stairs?")
    assert fig.axes[0].get_legend_handles_labels()[1] == ["hard", "soft"]
    fig = learning([0, 20], {"soft": torch.rand(5, 2), "hard": torch.rand(5, 2)}, 1 / 8, "Can it learn?")
    assert fig.axes[0].get_legend_handles_labels()[1] == ["soft", "hard", "guessing"]


def dial() -> Interactive:
    return query_dial(soft_lookup, WORDS, KEYS, VALUES, ["furry", "loud"], "What does it find?")


def test_the_dial_holds_what_the_lookup_gave():
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', dial().html)
    assert found is not None
    data = json.loads(found[1])
    silent, longest = data["weights"][0], data["weights"][-1]
    assert silent[0] == [250, 250, 250, 250]
    east, north = (180 // data["turn"], 270 // data["turn"])
    assert longest[east] == (1000 * soft_lookup(torch.tensor([[3.0, 0.0]]), KEYS, torch.eye(4))[0]).round().tolist()
    assert longest[north].index(max(longest[north])) == WORDS.index("purred")
    assert "cat gets a weight of 0.95" in dial().alt


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 900])
def test_the_dial_turns_by_sliders_and_by_its_tip(opened, width):
    page, errors = opened(dial(), width)
    assert "Heard most: cat, with a weight of 0.95." in page.inner_text(".said")
    page.locator("input[name=direction]").fill("54")  # the 54th step is 90 degrees
    assert "Heard most: purred, with a weight of 0.95." in page.inner_text(".said")
    tip = page.locator("svg circle").last.bounding_box()
    page.mouse.move(tip["x"] + 10, tip["y"] + 10)
    page.mouse.down()
    page.mouse.move(tip["x"] + 300, tip["y"] + 120, steps=4)  # far out to the right
    page.mouse.up()
    assert "Heard most: cat" in page.inner_text(".said")
    assert page.locator("input[name=length]").input_value() == "6"  # as long as it gets
    page.locator("input[name=length]").fill("0")
    assert "every word is heard alike" in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


def playground() -> Interactive:
    return sentence_playground(soft_lookup, WORDS, KEYS, [[0, 1], [0, 0]], "purred", "Who looks for what?")


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 900])
def test_the_playground_computes_self_attention(opened, width):
    page, errors = opened(playground(), width)

    def shown() -> list[str]:
        return page.locator("svg text").all_text_contents()

    def expected(w_q: list[list[float]], asker: str) -> tuple[list[str], list[str]]:
        """The weights of one word and what it gets, in float64 and without the course's functions."""
        x = KEYS.double()
        scores = (x @ torch.tensor(w_q).double().T @ x.T)[WORDS.index(asker)]
        weights = scores.exp() / scores.exp().sum()
        return [f"{w:.2f}" for w in weights], [f"{found:.2f}" for found in weights @ x]

    weights, gets = expected([[0, 1], [0, 0]], "purred")
    assert [text for text in shown() if "." in text] == [*weights, *gets]
    assert "“purred” is (0, 2) and asks (2, 0). Heard most: cat" in page.inner_text(".said")

    page.focus("input[name=dd]")  # deeds seek deeds, by keyboard
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    weights, gets = expected([[0, 1], [0, 2]], "purred")
    assert [text for text in shown() if "." in text] == [*weights, *gets]
    assert "Heard most: purred" in page.inner_text(".said")

    page.locator("svg text", has_text="cat").first.click()
    assert page.locator("select[name=asker]").evaluate("e => e.selectedOptions[0].text") == "cat"
    assert "That is no question: it hears every word alike." in page.inner_text(".said")
    page.locator("input[name=td]").fill("3")  # the value at index 3 is 1: things seek deeds
    weights, gets = expected([[0, 1], [1, 2]], "cat")
    assert [text for text in shown() if "." in text] == [*weights, *gets]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
