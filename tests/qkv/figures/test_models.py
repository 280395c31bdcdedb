"""Chapter 12's figures: each asks its question, and the two that move cut and write as the course's code does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from qkv.figures import models as draw
from qkv.model.blocks import EncoderLayer
from qkv.model.masks import causal_mask
from qkv.model.models import encode_bpe, sampling_probabilities, train_bpe
from qkv.tasks import animals

TWO = {"plain": torch.rand(3, 2), "top-p 0.95": torch.rand(3, 2)}


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.surprises({"1-gram": torch.tensor([2.9]), "GPT": torch.tensor([0.9, 0.91])}, 0.88),
        lambda: draw.written(TWO, TWO, [0.4, 1.0]),
        lambda: draw.patches(torch.rand(2, 6, 6), 2),
        lambda: draw.by_pictures({"CNN": torch.rand(3, 2), "ViT": torch.rand(3, 2)}, ["100", "1,000"]),
        lambda: draw.tuned({"rank 1": torch.rand(3)}, {"rank 1": torch.rand(3)}, 0.88),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_patches_are_shown_in_the_order_in_which_they_are_read() -> None:
    image = torch.arange(36.0).view(1, 6, 6)
    shown = draw.patches(image, 3).axes[1].images[0].get_array()
    assert shown is not None
    rows = torch.tensor(shown.filled(float("nan")))  # type: ignore[attr-defined]
    assert rows[0, :3].tolist() == [0, 1, 2]
    assert rows[1, 4:7].tolist() == [9, 10, 11]  # the patch beside it, after a gap
    assert rows[2, 8:11].tolist() == [30, 31, 32]


@pytest.mark.parametrize("still", [lambda: draw.still_tokens([(97, 98)], "ab 注", 1), draw.still_sampler])
def test_there_is_a_still_picture(still: Callable[[], Figure]) -> None:
    assert still().axes


class Small(nn.Module):
    """Parameters as the chapter names them."""

    def __init__(self, d: int = 8, n_heads: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words = nn.Parameter(torch.randn(len(animals.WORDS), d))
        self.places = nn.Parameter(torch.randn(20, d))
        self.layers = nn.ModuleList(EncoderLayer(d, n_heads, 3 * d) for _ in range(2))
        self.norm = nn.LayerNorm(d)
        self.output = self.words

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words[ids] + self.places[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, causal_mask(ids.shape[1]))
        return self.norm(x) @ self.output.T


def test_numbers_are_kept_in_bytes_to_half_a_step() -> None:
    from base64 import b64decode

    tensor = torch.randn(3, 5)
    shape, scale, text = draw.in_bytes(tensor)
    read = torch.tensor([(byte + 128) % 256 - 128 for byte in b64decode(text)]) * scale
    assert shape == [3, 5]
    assert torch.allclose(read.view(3, 5), tensor, atol=0.51 * scale)


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_a_text_is_cut_as_the_exercise_cuts_it(opened: Callable[..., Any], width: int) -> None:
    merges = train_bpe(["the", "then", "other", "others", " the", " there"], 8)
    page, errors = opened(draw.tokeniser(merges, "the others", 5), width)
    line = page.locator("input[name=text]")

    def chips() -> list[str]:
        return page.locator("svg.drawing text").all_text_contents()

    for text in ("the others", "then there", "thé 注"):
        line.fill(text)
        for index, n in enumerate((0, 1, 2, 5, 8)):
            page.locator("input[name=merges]").fill(str(index))
            words = [text.split(" ")[0], " " + text.split(" ")[1]]
            assert len(chips()) == sum(len(encode_bpe(word, merges[:n])) for word in words), (text, n)
    assert "5 characters are 8 bytes" in page.inner_text(".said")
    assert "E6" in chips()  # a byte that is no character by itself
    line.fill("")
    assert page.inner_text(".said") == "Write something above."
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_model_in_the_page_draws_from_what_the_exercise_gives(opened: Callable[..., Any], width: int) -> None:
    model = Small()
    with torch.no_grad():  # as the page has it, rounded
        for tensor in model.parameters():
            scale = tensor.abs().max() / 127
            tensor.copy_((tensor / scale).round() * scale)
    page, errors = opened(draw.sampler(model, 2, animals), width)
    page.locator("input[name=temperature]").fill("3")  # 0.7
    page.locator("input[name=k]").fill("4")  # 6
    page.locator("input[name=p]").fill("5")  # 0.9
    for dice in range(3):
        page.locator("input[name=dice]").fill(str(dice))
        page.locator("input[name=word]").fill("2")
        texts = page.locator("svg.drawing text").all_text_contents()
        first = "".join(page.locator("svg.drawing text.strong").all_text_contents()[:1])
        assert first in animals.WORDS
        ids = [animals.STOP, *animals.ids_of(texts[:2])]
        with torch.no_grad():
            p = sampling_probabilities(model(torch.tensor([ids]))[0, -1], 0.7, 6, 0.9)
        for word, share in zip(animals.WORDS, p.tolist(), strict=True):
            after = [later for name, later in pairwise(texts[-25:]) if name == word]
            if share > 0.002:
                assert any(later.startswith("0.") and abs(float(later) - share) < 0.004 for later in after), word
    assert "The grammar" in page.inner_text(".said") or "come to an end" in page.inner_text(".said")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
