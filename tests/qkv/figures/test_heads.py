"""Chapter 03's figures: what they draw is what they were given."""

import pytest
import torch

from qkv.figures.heads import cut, gazes, head_viewer, narrowness, pruning, scores_by_heads, similarities


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_cut_writes_every_entry_of_every_head():
    x = 10 * torch.arange(3).view(3, 1) + torch.arange(4)
    heads = x.view(3, 2, 2).transpose(0, 1)
    fig = cut(x, {"split": heads}, "a question?")
    whole, first, second = fig.axes
    assert texts(whole) == [f"{t}{c}" for t in range(3) for c in range(4)]
    assert texts(first) == ["00", "01", "10", "11", "20", "21"]
    assert texts(second) == ["02", "03", "12", "13", "22", "23"]
    assert first.get_xlabel() == "split"


def test_gazes_marks_friends_and_rivals():
    seats = torch.tensor([[1, 2], [2, 0], [0, 1]])
    fig = gazes({"one": torch.eye(3), "two": torch.eye(3)}, seats, "where?")
    for axis in fig.axes:
        friend, rival = axis.lines
        assert list(friend.get_xdata()) == [1, 2, 0]
        assert list(rival.get_xdata()) == [2, 0, 1]
        assert friend.get_marker() != rival.get_marker()


def test_scores_by_heads_shows_every_seed_and_the_width():
    fig = scores_by_heads({1: torch.tensor([0.1, 0.2]), 4: torch.tensor([0.9, 1.0])}, 8, 0.125, "how many?")
    axis = fig.axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1\n8", "4\n2"]
    assert axis.lines[2].get_ydata() == pytest.approx([0.15, 0.95])


def test_similarities_writes_the_cosines():
    matrix = torch.tensor([[1.0, 0.25], [0.25, 1.0]])
    fig = similarities({"these": matrix, "those": matrix}, "alike?")
    assert texts(fig.axes[0]) == ["1", ".2", ".2", "1"]


def test_pruning_counts_down():
    fig = pruning(torch.tensor([[0.9, 0.5], [1.0, 0.7]]), torch.tensor([[1.0, 0.9, 0.0], [1.0, 0.8, 0.1]]), "missed?")
    single, path = fig.axes
    assert list(single.lines[0].get_ydata()) == pytest.approx([0.5, 0.9])
    assert list(path.lines[1].get_xdata()) == [2, 1, 0]
    assert path.xaxis_inverted()


def test_narrowness_has_a_line_for_each_wish():
    runs = torch.tensor([[0.5, 0.6], [0.1, 0.2]])
    fig = narrowness((1, 2), {"soft": runs, "hard": runs / 2}, "narrow?")
    assert [text.get_text() for text in fig.axes[0].get_legend().get_texts()] == ["soft", "hard"]


ROOMS, GUESTS = 3, 5


def viewer_data() -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    chance = torch.Generator().manual_seed(0)
    maps = {
        name: (5 * torch.rand(ROOMS, heads, GUESTS, GUESTS, generator=chance)).softmax(dim=-1)
        for name, heads in {"one": 1, "four": 4}.items()
    }
    seats = torch.rand(ROOMS, GUESTS, GUESTS, generator=chance).argsort(dim=-1)[..., :2]
    return maps, seats


@pytest.mark.browser
@pytest.mark.parametrize("width", [375, 900])
def test_the_viewer_shows_each_head_in_each_room(opened, width):
    maps, seats = viewer_data()
    figure = head_viewer(maps, seats, "four", "Where does it look?")
    page, errors = opened(figure, width)

    def expect(model: str, head: int, room: int) -> None:
        on = maps[model][room, head].gather(1, seats[room]).mean(dim=0).tolist()
        said = page.inner_text(".said")
        assert f"gives {on[0]:.2f} of its weight to friends and {on[1]:.2f} to rivals" in said
        opacities = page.locator("svg rect[opacity]").evaluate_all(
            "all => all.map(e => Number(e.getAttribute('opacity')))"
        )
        large = torch.tensor(opacities[: GUESTS**2]).view(GUESTS, GUESTS)
        assert torch.allclose(large, 0.04 + 0.9 * maps[model][room, head], atol=2e-3)
        assert len(opacities) == GUESTS**2 * (1 + maps[model].shape[1])

    expect("four", 0, 0)
    page.focus("input[name=head]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect("four", 2, 0)
    assert page.get_attribute("input[name=head]", "aria-valuetext") == "2 of 4"
    page.focus("input[name=room]")
    page.keyboard.press("End")
    expect("four", 2, 2)
    page.locator("svg rect[style*=pointer]").nth(3).click()  # a small map is a button for the pointer
    expect("four", 3, 2)
    page.locator("select[name=model]").select_option("one")
    expect("one", 0, 2)
    assert page.get_attribute("input[name=head]", "aria-valuetext") == "the only"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    page.close()
