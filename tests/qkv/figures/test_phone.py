"""Figures for phones: panels are stacked, and nothing is cut off or covered."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from qkv import figures
from qkv.figures import phone


def narrow(fig: Figure) -> Figure:
    phone.make_narrow(fig)
    fig.draw_without_rendering()
    return fig


def beside_each_other(n: int = 3) -> Figure:
    fig, axes = plt.subplots(1, n, figsize=(figures.WIDTH, 2.6), sharey=True)
    for i, ax in enumerate(axes):
        ax.plot([0, 1], [0, i], label=f"a curve whose name is long, number {i}")
        ax.set(xlabel="how far it was from the beginning of the sentence, in words", title=f"panel {i}")
    axes[0].set_ylabel("height")
    fig.suptitle("A question that takes more than one line on a phone, as many of ours do?", x=0.01, ha="left")
    return fig


def test_panels_in_a_row_are_stacked_from_the_first_to_the_last() -> None:
    fig = narrow(beside_each_other())
    boxes = [ax.get_window_extent() for ax in fig.axes]
    for above, below in pairwise(boxes):
        assert above.y0 > below.y1
        assert above.x0 == pytest.approx(below.x0)
    assert min(box.width for box in boxes) > 0.7 * phone.NARROW * fig.dpi


def test_panels_that_are_one_drawing_stay_beside_each_other() -> None:
    fig = beside_each_other()
    phone.keep_in_a_row(fig)
    boxes = [ax.get_window_extent() for ax in narrow(fig).axes]
    assert len({round(box.y0) for box in boxes}) == 1
    assert boxes[0].x1 < boxes[1].x0


def test_a_panel_without_labels_of_its_own_gets_those_of_its_neighbour() -> None:
    fig = narrow(beside_each_other())
    assert [ax.get_ylabel() for ax in fig.axes] == ["height"] * 3
    assert all(label.get_visible() for ax in fig.axes for label in ax.get_yticklabels())


def test_no_word_is_cut_off() -> None:
    fig = beside_each_other()
    handles, labels = fig.axes[0].get_legend_handles_labels()
    fig.legend(3 * handles, 3 * labels, loc="outside lower center", ncols=3)
    narrow(fig)
    written = [fig._suptitle, *(t for ax in fig.axes for t in (ax._left_title, ax.xaxis.label, ax.yaxis.label))]
    for box in [fig.legends[0].get_window_extent(), *(text.get_window_extent() for text in written)]:
        assert box.x0 >= 0
        assert box.x1 <= phone.NARROW * fig.dpi + 1


def test_lines_are_broken_at_spaces_and_not_in_a_formula() -> None:
    fig, ax = plt.subplots()
    ax.set_title("The variance of $q \\cdot k = q_1 k_1 + \\dots + q_d k_d$ grows with the width of the head")
    lines = narrow(fig).axes[0]._left_title.get_text().split("\n")
    assert len(lines) > 1
    assert all(line.count("$") in (0, 2) for line in lines)


def test_a_legend_does_not_cover_its_curves() -> None:
    fig, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="rising")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    narrow(fig)
    assert fig.legends[0].get_window_extent().y1 < ax.get_window_extent().y0


def test_a_picture_keeps_its_shape_and_uses_the_width() -> None:
    fig, axes = plt.subplots(1, 2, figsize=(figures.WIDTH, 3.0))
    for ax in axes:
        ax.imshow([[0, 1, 2], [3, 4, 5]])
    for box in (ax.get_window_extent() for ax in narrow(fig).axes):
        assert box.width / box.height == pytest.approx(3 / 2, rel=0.01)
        assert box.width > 0.6 * phone.NARROW * fig.dpi


def test_two_rows_become_two_columns() -> None:
    fig, axes = plt.subplots(2, 3, figsize=(figures.WIDTH, 4))
    narrow(fig)
    for above, below in axes.T:
        assert above.get_window_extent().x1 < below.get_window_extent().x0
    first, second = axes[0, 0].get_window_extent(), axes[0, 1].get_window_extent()
    assert first.y0 > second.y1


def test_the_words_of_a_drawing_shrink_with_its_boxes() -> None:
    fig, ax = plt.subplots()
    ax.axis("off")
    word = ax.text(0.5, 0.5, "norm, then attention to all that was read", fontsize=10)
    narrow(fig)
    assert 7 < word.get_fontsize() < 8
    assert word.get_window_extent().width <= phone.NARROW / 4 * fig.dpi
