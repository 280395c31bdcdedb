"""Chapter 18's figures: each asks its question, and the two that move say what their numbers say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from qkv.figures import aligned as draw
from qkv.figures.aligned import Look
from qkv.figures.interactive import Interactive
from qkv.tasks import errands

if TYPE_CHECKING:
    from playwright.sync_api import Page

ASKED = torch.tensor([[errands.UP, 7, 2, 9, 2, 1, errands.EQUALS]])
BILL = {"base": (0.1, 0.2, 0.05, 0.5), "tuned": (0.5, 0.7, 0.01, 1.0)}


class Words(nn.Module):
    """A model of answers with a table of log-probabilities for each place, which all requests share."""

    def __init__(self) -> None:
        super().__init__()
        g = torch.Generator().manual_seed(0)
        table = torch.randn(errands.LONGEST, len(errands.WORDS), generator=g)
        table[:2, :3] += 4
        table[2:, errands.END] += 6
        self.table = nn.Parameter(table)

    def log_p(self, ids: Tensor) -> Tensor:
        said = self.table.log_softmax(-1)[torch.arange(errands.LONGEST), ids[:, errands.ASKED :]]
        return (said * errands.answer(ids)[:, errands.ASKED :]).sum(dim=1)


def log_p(model: Words, ids: Tensor) -> Tensor:
    return model.log_p(ids)


def write(model: Words, asked: Tensor, g: torch.Generator) -> Tensor:
    """Answers of one digit or two, so that a few are likely."""
    digits = torch.randint(3, (len(asked), 2), generator=g)
    ends = torch.full((len(asked), errands.LONGEST - 2), errands.END)
    return torch.cat([asked, digits, ends], dim=1)


def runs() -> dict[str, list[Look]]:
    def look(step: int, seen: float, truth: float) -> Look:
        return Look(
            step, seen, truth, 0.3, step / 10, [("up 7 2 9 2 1 = 1 2 2 7 9 <end>", True), ("up 1 1 = 9", False)]
        )

    return {
        "the checker": [look(step, 0.4 + step / 100, 0.4 + step / 100) for step in (0, 10, 20, 30)],
        "order": [look(step, 0.4 + step / 50, 0.4 - step / 100) for step in (0, 10, 20)],
    }


def held(figure: Interactive) -> Any:
    found = re.search(r'live\("[^"]+", draw, (\{.*\})\);', figure.html)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize(
    "fig",
    [
        lambda: draw.best_of({1: (0.4, -0.2), 4: (0.6, 2.0), 64: (0.5, 3.5)}, 0.98),
        lambda: draw.displaced({"a": (torch.randn(5), torch.randn(5)), "b": (torch.randn(5), torch.randn(5))}),
        lambda: draw.tries({"tuned": {1: 0.4, 64: 0.9}, "rewarded": {1: 0.8, 64: 0.9}}),
        lambda: draw.bill(BILL),
    ],
)
def test_every_title_is_a_question(fig: Callable[[], Figure]) -> None:
    made = fig()
    assert (made.get_suptitle() or made.axes[0].get_title(loc="left")).endswith("?")


def test_a_point_is_a_pair() -> None:
    chosen, rejected = torch.tensor([-1.0, 2.0]), torch.tensor([-5.0, 0.5])
    axis = draw.displaced({"a": (chosen, rejected), "b": (chosen, rejected)}).axes[0]
    assert axis.collections[0].get_offsets().tolist() == [[-5.0, -1.0], [0.5, 2.0]]


def test_the_first_stage_is_on_top() -> None:
    axis = draw.bill(BILL).axes[0]
    at = dict(zip((label.get_text() for label in axis.get_yticklabels()), axis.get_yticks(), strict=True))
    assert at["base"] > at["tuned"]


def test_the_six_answers_are_the_likeliest_and_know_their_gradients() -> None:
    model = Words()
    answers, p, kernel = draw.answers_and_gradients(model, log_p, ASKED, write)
    assert p.tolist() == sorted(p.tolist(), reverse=True)
    assert torch.allclose(p, log_p(model, answers).exp())
    assert torch.allclose(kernel, kernel.T)
    chosen, rejected, step = 0, 4, 1e-3
    gap = log_p(model, answers[[chosen]]) - log_p(model, answers[[rejected]])
    (slope,) = torch.autograd.grad(gap.sum(), [model.table])
    before = log_p(model, answers).detach()
    with torch.no_grad():
        model.table += step * slope
    moved = (log_p(model, answers) - before) / step
    assert torch.allclose(moved, kernel[:, chosen] - kernel[:, rejected], atol=0.02)


def test_the_figure_of_one_preference_holds_them() -> None:
    figure = draw.preference(Words(), log_p, ASKED, write, errands)
    data = held(figure)
    assert len(data["answers"]) == len(data["p"]) == len(data["kernel"]) == 6
    assert len(set(data["answers"])) == 6


@pytest.mark.browser
def test_steps_make_a_gap_and_say_who_fell(opened: Callable[[Interactive, int], tuple[Page, list[str]]]) -> None:
    figure = draw.preference(Words(), log_p, ASKED, write, errands)
    page, errors = opened(figure, 700)
    said = page.locator(".said")
    assert "before any step" in said.inner_text()
    slider = page.locator("input[name=step]")
    slider.fill("20")
    told = re.search(r"gap grew by (\d+\.\d+) nats: preferred (-?\d+\.\d+), rejected (-?\d+\.\d+)", said.inner_text())
    assert told is not None
    assert float(told[1]) > 0
    assert float(told[1]) == pytest.approx(float(told[2]) - float(told[3]), abs=0.02)
    fell = "became less likely" in said.inner_text()
    assert fell == (float(told[2]) < 0)
    page.locator("select[name=rejected]").select_option(index=0)
    assert "cannot be preferred to itself" in said.inner_text()
    assert errors == []
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 700])
def test_the_judges_tell_what_was_recorded(
    opened: Callable[[Interactive, int], tuple[Page, list[str]]], width: int
) -> None:
    page, errors = opened(draw.judges(runs()), width)
    page.locator("select[name=reward]").select_option(label="order")
    page.locator("input[name=step]").fill("1")
    assert "After step 10 the judge sees 0.60, true is 0.30" in page.locator(".said").inner_text()
    page.locator("input[name=step]").fill("3")  # after its end
    assert "This training ended at step 20." in page.locator(".said").inner_text()
    assert "✗ 9" in page.locator("svg.drawing").text_content()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert errors == []
    page.close()


def test_steps_that_are_not_equally_spaced_are_refused() -> None:
    seen = {"a": [Look(step, 0.1, 0.1, 0.1, 0.1, []) for step in (0, 10, 15)]}
    with pytest.raises(ValueError, match=r"the steps are \[0, 10, 15\], expected equally spaced ones\."):
        draw.judges(seen)


def test_there_is_a_still_picture() -> None:
    assert draw.still_preference(["1 2 ✓", "2 1"], torch.tensor([0.5, 0.2])).axes
    assert draw.still_judges(runs()).axes
