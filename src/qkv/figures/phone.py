"""A figure for a narrow page: drawn anew with its panels one below the other, not shrunk.

Text keeps its size, so that it can be read. A line of text that no longer fits is broken, and a legend stands below
the panels, where it covers nothing. A figure whose panels are one drawing says `keep_in_a_row`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.text import Text

NARROW = 3.6  # inches: 360 CSS pixels, a phone's column
TITLE = 0.35  # inches that the title of a panel takes
ONE_ROW = "panels in a row"
WORD = re.compile(r"(?:\$[^$]*\$|\S)+")


def keep_in_a_row(fig: Figure) -> None:
    """Say that the panels of a figure belong beside each other, however narrow the page."""
    fig.set_label(ONE_ROW)


def make_narrow(fig: Figure) -> None:
    """Turn a figure, in place, into the one that a phone shows."""
    panels = [axes for axes in fig.axes if axes.get_subplotspec() is not None]
    grids = {axes.get_subplotspec().get_gridspec() for axes in panels}  # type: ignore[union-attr]
    if len(grids) == 1 and fig.get_label() != ONE_ROW:
        grid = grids.pop()
        if grid.ncols > grid.nrows:
            stack(fig, panels, grid.nrows, grid.ncols)
    fig.set_figwidth(NARROW)
    legends = [axes.get_legend() for axes in panels if axes.get_legend() is not None]
    for legend in (*fig.legends, *(legends if len(legends) == 1 else ())):
        put_below(fig, legend)
    for axes in panels:
        if not axes.axison:
            shrink_words(axes)
    for _ in range(2):  # a broken line moves the panels, which leaves the others another width
        fig.draw_without_rendering()
        for text, inches in titles_and_labels(fig):
            break_lines(text, inches * fig.dpi)


def stack(fig: Figure, panels: list[Axes], rows: int, columns: int) -> None:
    """Turn the rows of a figure into columns: what stood beside each other stands below each other."""
    heights = [0.0] * columns
    places = [(place.colspan.start, place.rowspan.start) for axes in panels if (place := axes.get_subplotspec())]
    for axes, (row, _) in zip(panels, places, strict=True):
        heights[row] = max(heights[row], height(axes, fig.get_figheight() / rows, NARROW / rows))
    grid = GridSpec(columns, rows, figure=fig, height_ratios=heights)
    for axes, place in zip(panels, places, strict=True):  # type: ignore[assignment]
        axes.set_subplotspec(grid[place])  # type: ignore[index]
        label_again(axes)
    fig.set_figheight(sum(heights) + TITLE)


def height(axes: Axes, before: float, width: float) -> float:
    """How many inches a panel of this width takes, title and labels too: as many as before, or as its picture asks."""
    if axes.get_aspect() == "auto":
        return 0.8 * before
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    return 0.85 * width * float(axes.get_aspect()) * abs((high - low) / (right - left)) + 2 * TITLE


def label_again(axes: Axes) -> None:
    """A panel that had its neighbour's labels gets its own."""
    neighbours = axes.get_shared_y_axes().get_siblings(axes)
    if len(neighbours) > 1:
        axes.tick_params(labelleft=True)
        axes.set_ylabel(axes.get_ylabel() or max((other.get_ylabel() for other in neighbours), key=len))


def put_below(fig: Figure, legend: Legend) -> None:
    """Move a legend below all panels, in as many columns as fit."""
    labels = [text.get_text() for text in legend.get_texts()]
    handles, named = legend.axes.get_legend_handles_labels() if legend.axes else ([], [])
    if named != labels:
        handles = legend.legend_handles  # type: ignore[assignment]
    legend.remove()
    for columns in range(len(labels), 0, -1):
        below = fig.legend(handles, labels, loc="outside lower left", ncols=columns)
        box = below.get_window_extent()
        if columns == 1 or box.width <= NARROW * fig.dpi:
            fig.set_figheight(fig.get_figheight() + box.height / fig.dpi)  # the panels keep what they had
            return
        below.remove()


def shrink_words(drawing: Axes) -> None:
    """Boxes and arrows shrink with the page, so the words in them do too, a little; long ones are broken."""
    for text in drawing.texts:
        text.set_fontsize(0.76 * text.get_fontsize())  # type: ignore[operator]
        break_lines(text, NARROW / 4 * drawing.get_figure(root=True).dpi)  # type: ignore[union-attr]


def titles_and_labels(fig: Figure) -> Iterator[tuple[Text, float]]:
    """Each title and each axis label, with the inches that it may be long."""
    if fig.get_suptitle():
        yield fig._suptitle, NARROW  # type: ignore[attr-defined]
    for axes in fig.axes:
        box = axes.get_window_extent().transformed(fig.dpi_scale_trans.inverted())
        centred = box.x0 + box.x1  # a text in the middle grows to both sides
        yield axes.title, min(centred, 2 * NARROW - centred)
        yield axes._left_title, NARROW - box.x0  # type: ignore[attr-defined]
        yield axes.xaxis.label, min(centred, 2 * NARROW - centred)
        yield axes.yaxis.label, box.height + TITLE


def break_lines(text: Text, pixels: float) -> None:
    """Break a text at its spaces, but in no formula, so that no line is longer than this if that can be."""
    lines: list[str] = []
    for line in text.get_text().split("\n"):
        start = len(lines)
        for word in WORD.findall(line):
            longer = f"{lines[-1]} {word}" if lines[start:] else word
            if lines[start:] and width_of(text, longer) <= pixels:
                lines[-1] = longer
            else:
                lines.append(word)
    text.set_text("\n".join(lines))


def width_of(text: Text, line: str) -> float:
    """How long a line is in the type of a text, in pixels, whichever way that is turned."""
    probe = Text(text=line, fontproperties=text.get_fontproperties())
    probe.set_figure(text.get_figure(root=True))  # type: ignore[arg-type]
    return float(probe.get_window_extent().width)
