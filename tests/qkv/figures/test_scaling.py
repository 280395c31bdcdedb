"""Chapter 02's figures show what they are given."""

from __future__ import annotations

import pytest
import torch

from qkv.figures import scaling
from qkv.model.lookup import softmax
from qkv.model.scaling import attention_entropy, softmax_jacobian


def titles(fig) -> list[str]:
    return [axis.get_title(loc="left") or axis.get_title() for axis in fig.axes]


def test_scatter_of_scores() -> None:
    raw = {d: d**0.5 * torch.randn(500, dtype=torch.float64) for d in (4, 64, 1024)}
    fig = scaling.scatter_of_scores(raw, {d: s / d**0.5 for d, s in raw.items()})
    assert [len(axis.lines) for axis in fig.axes] == [3, 3]
    assert [line.get_label() for line in fig.axes[0].lines] == ["d = 4", "d = 64", "d = 1024"]


def test_passed_back_shows_every_entry() -> None:
    p = torch.tensor([0.5, 0.25, 0.25])
    jacobian = torch.diag(p) - torch.outer(p, p)
    fig = scaling.passed_back({"a": p, "b": p}, {"a": jacobian, "b": jacobian})
    assert [bar.get_height() for bar in fig.axes[0].patches] == p.tolist()
    entries = [text.get_text() for text in fig.axes[2].texts]
    assert entries == [".25", "-.12", "-.12", "-.12", ".19", "-.06", "-.12", "-.06", ".19"]


@pytest.mark.parametrize(("slope", "text"), [(0.25, ".25"), (-0.061, "-.06"), (0.001, "0"), (-0.001, "0")])
def test_short(slope: float, text: str) -> None:
    assert scaling.short(slope) == text


def test_saturation() -> None:
    runs = {"scaled": torch.rand(5, 3), "unscaled": torch.rand(5, 3)}
    fig = scaling.saturation((4, 16, 64), runs, runs)
    assert titles(fig) == ["How many keys are heard?", "How much is passed back?"]
    assert [label.get_text() for label in fig.axes[0].get_xticklabels()] == ["4", "16", "64"]


def test_weight_maps() -> None:
    fig = scaling.weight_maps({"one": torch.eye(4, 6), "two": torch.full((4, 6), 1 / 6)})
    assert titles(fig)[:2] == ["one", "two"]
    assert fig.axes[0].images[0].get_array().shape == (4, 6)


def test_deaf_rows_end_at_all_of_them() -> None:
    norms = {name: torch.rand(50) for name in "abcd"}
    fig = scaling.deaf_rows(norms, threshold=1e-3)
    curves = [line for line in fig.axes[0].lines if line.get_label() in norms]
    assert len(curves) == 4
    assert all(float(line.get_ydata()[-1]) == 1.0 for line in curves)


def test_learning() -> None:
    arms = {"scaled": torch.rand(5, 7), "unscaled": torch.rand(5, 7)}
    fig = scaling.learning({16: arms, 64: arms}, every=10, chance=0.1)
    assert titles(fig) == ["d = 16", "d = 64"]
    mean = next(line for line in fig.axes[0].lines if line.get_label() == "scaled")
    assert list(mean.get_xdata()) == [10, 20, 30, 40, 50, 60, 70]


SCORES = torch.tensor([1.5, 0.6, 0.2, -0.3, -0.7, -1.3])


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 900])
def test_the_dial_shows_weights_slopes_and_how_many_keys_are_heard(opened, width) -> None:
    figure = scaling.softmax_dial(softmax, softmax_jacobian, attention_entropy, SCORES, "What closes a softmax?")
    page, errors = opened(figure, width)

    def expect(factor: float) -> None:
        """What scores times this factor give in float64: weights, e to their entropy, the largest slope by autograd."""
        scores = (factor * SCORES.double()).requires_grad_()
        weights = torch.softmax(scores, dim=-1)
        texts = page.locator("svg text").all_text_contents()
        first = texts.index("weight") + 1
        assert [float(text) for text in texts[first + 2 : first + 18 : 3]] == pytest.approx(
            weights.tolist(), abs=0.0051
        )
        shown = [float(text.replace("−", "-")) for text in texts[first + 1 : first + 18 : 3]]
        assert shown == pytest.approx(scores.tolist(), abs=0.051)
        heard = torch.special.entr(weights).sum().exp().item()
        assert f"listens to {heard:.1f} of 6 keys" in page.inner_text(".said")
        jacobian = torch.stack([torch.autograd.grad(w, scores, retain_graph=True)[0] for w in weights])
        largest = jacobian.max().item()
        words = f"largest slope is {largest:.2f}" if largest >= 0.005 else "nothing comes back"
        assert words in page.inner_text(".said")

    expect(8)  # d = 64, divided by nothing
    page.focus("select[name=divisor]")
    page.keyboard.press("ArrowDown")  # √d
    expect(1)
    page.focus("input[name=d]")
    page.keyboard.press("End")
    assert page.get_attribute("input[name=d]", "aria-valuetext") == "1,024"
    expect(1)
    page.focus("input[name=temperature]")
    page.keyboard.press("Home")
    expect(4)
    page.locator("select[name=divisor]").select_option("d")
    expect(4 / 32)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
