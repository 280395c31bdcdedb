"""Chapter 19's figures: each asks its question, and the model in the page computes as `TinyGPT` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures import capstone as draw
from qkv.figures.capstone import Curve
from qkv.model.capstone import TinyGPT
from qkv.model.positions import rotate
from qkv.tasks import ledgers

RISING = Curve([0, 20, 40, 60, 80], [3.0, 1.1, 1.0, 0.7, 0.6], [0.1, 0.4, 0.45, 0.95, 1.0])
FLAT = Curve([0, 20, 40], [3.0, 1.1, 1.0], [0.1, 0.4, 0.4])
TEXT = "Ada coins 7 ; Gus hats 2 ; Eva eggs 7 ; Gus"


def small(n_layers: int = 2) -> TinyGPT:
    """A model whose numbers are those that bytes can hold, as the page has them; heads that are not all alike."""
    torch.manual_seed(0)
    model = TinyGPT(len(ledgers.WORDS), 12, 3, n_layers, 20)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.mul_(2.0)
            scale = tensor.abs().max().clamp(min=1e-9) / 127
            tensor.copy_((tensor / scale).round() * scale)
    return model


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.learning({"two layers": [RISING], "one layer": [FLAT]}, 0.6, "When?"),
        lambda: draw.learning({"alone": [FLAT]}, 0.6, "When?"),
        lambda: draw.heads_found(torch.rand(2, 3), torch.rand(2, 3), torch.rand(2, 3), 1.0),
        lambda: draw.two_maps([torch.rand(4, 4)] * 2, ["a", "b"], ["<end>", "Ada", "coins", "7"]),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    assert fig().get_suptitle().endswith("?")


def test_the_drop_is_between_the_last_step_below_and_the_first_above() -> None:
    assert draw.drop(RISING) == (40, 60)
    assert draw.drop(FLAT) is None
    assert draw.drop(Curve([0, 20, 40, 60], [1.0] * 4, [0.1, 0.95, 0.3, 1.0])) == (40, 60)  # it came, went and came


def test_the_drop_is_shaded_in_both_panels_and_only_where_there_is_one() -> None:
    shaded = draw.learning({"two layers": [RISING]}, 0.6, "When?")
    assert [len(ax.patches) for ax in shaded.axes] == [1, 1]
    assert [len(ax.patches) for ax in draw.learning({"one layer": [FLAT]}, 0.6, "When?").axes] == [0, 0]


def test_looks_are_the_weights_by_which_the_model_attends() -> None:
    model, ids = small(), torch.randint(27, (4, 7), generator=torch.Generator().manual_seed(1))
    weights = draw.looks(model, ids, rotate)
    assert weights.shape == (2, 4, 3, 7, 7)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4, 3, 7))
    assert weights.triu(1).abs().max() == 0
    values: list[Tensor] = []
    attention: Any = model.layers[1]["attention"]  # type: ignore[index]
    attention.v_proj.register_forward_hook(lambda module, inputs, output: values.append(output))
    attention.out_proj.register_forward_hook(lambda module, inputs, output: values.append(inputs[0]))
    with torch.no_grad():
        model(ids)
    v, mixed = values[0].unflatten(-1, (3, 4)).transpose(1, 2), values[1].unflatten(-1, (3, 4)).transpose(1, 2)
    assert torch.allclose(weights[1] @ v, mixed, atol=1e-5)


def test_part_by_part_the_model_says_what_it_says_as_a_whole() -> None:
    model, ids = small(), torch.randint(27, (4, 7), generator=torch.Generator().manual_seed(1))
    logits, said, _ = draw.through(model, ids, rotate)
    with torch.no_grad():
        assert torch.allclose(logits, model(ids), atol=1e-5)
    assert said.shape == (2, 4, 3, 7, 4)


def test_what_a_head_says_can_be_replaced() -> None:
    model, ids = small(), torch.randint(27, (4, 7), generator=torch.Generator().manual_seed(1))

    def silent(layer: int, heads: Tensor) -> Tensor:
        keep = torch.tensor([1.0, 0.0 if layer == 1 else 1.0, 1.0])
        return heads * keep[:, None, None]

    logits, said, _ = draw.through(model, ids, rotate, silent)
    assert said[1][:, 1].abs().max() == 0 < said[0][:, 1].abs().max()
    attention: Any = model.layers[1]["attention"]  # type: ignore[index]
    with torch.no_grad():
        attention.out_proj.weight[:, 4:8] = 0  # the columns of that head
        assert torch.allclose(logits, model(ids), atol=1e-5)


def test_each_head_has_three_bars() -> None:
    fig = draw.three_answers([0.9, 0.8], [0.5, 0.1], [0.0, 0.2])
    assert [len(ax.patches) for ax in fig.axes] == [6]


def test_there_is_a_still_picture() -> None:
    assert draw.still_keeper(TEXT).axes


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 900])
def test_the_model_in_the_page_is_the_model(opened: Callable[..., Any], width: int) -> None:
    model = small()
    page, errors = opened(draw.keeper(model, 3, ledgers, TEXT, (0, 2)), width)

    def bars() -> dict[str, float]:
        """The six likeliest words: a word and then a number, at the end of all texts."""
        texts = page.locator("svg.drawing text").all_text_contents()[-12:]
        return {texts[i]: float(texts[i + 1]) for i in range(0, 12, 2)}

    def expected(text: str) -> dict[str, float]:
        ids = torch.tensor([[ledgers.END, *(ledgers.WORDS.index(word) for word in text.split())]])
        with torch.no_grad():
            p = model(ids)[0, -1].softmax(-1)
        return {word: round(float(share), 3) for word, share in zip(ledgers.WORDS, p, strict=True)}

    for text in (TEXT, "Ben gems 4 ;", "<end> ada COINS 7 ; Ada"):
        page.locator("input[name=text]").fill(text)
        words = text.replace("<end> ", "").replace("ada", "Ada").replace("COINS", "coins")
        found, right = bars(), expected(words)
        assert found == pytest.approx({word: right[word] for word in found}, abs=0.004), text
        assert min(found.values()) >= sorted(right.values())[-6] - 0.004
    page.locator("input[name=text]").fill(TEXT)
    ids = torch.tensor([[ledgers.END, *(ledgers.WORDS.index(word) for word in TEXT.split())]])
    weights = draw.looks(model, ids, rotate)[:, 0]  # (layer, head, query, key)
    page.locator("input[name=word]").fill("6")  # the seventh word
    said = page.inner_text(".said")
    most = int(weights[1, 2, 6, :7].argmax())
    assert f"word {most + 1}, “{ledgers.WORDS[int(ids[0, most])]}” ({weights[1, 2, 6, most]:.2f})" in said
    page.locator("select[name=second]").select_option("0")
    mean = weights[1, :, 6, :7].mean(0)
    assert f"({mean.max():.2f})" in page.inner_text(".said")
    page.locator("input[name=text]").fill("Ada coins seven ;")
    assert page.inner_text(".said").startswith("“seven” is no word of this language")
    page.locator("input[name=text]").fill("")
    assert "At “<end>”" in page.inner_text(".said")
    page.locator("input[name=text]").fill("Ada coins 7 ; " * 20)
    assert f"{ledgers.LENGTH} of {ledgers.LENGTH}" in page.locator("output").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
