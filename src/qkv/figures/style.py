"""One look for every figure of the course: colours, type, sizes, and how a figure is shown.

Figures have no ground of their own: the page shows through, and the book's dark mode turns their lightness round.
The colours are Okabe and Ito's, told apart with every common kind of colour vision.
"""

from __future__ import annotations

import os
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib import font_manager
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure

from qkv.figures.phone import make_narrow

BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW, GREY = "#56B4E9", "#CC79A7", "#F0E442", "#6E7781"
INK = "#1F2328"

QUERY, KEY, VALUE = BLUE, VERMILION, GREEN  # the same in every chapter
CYCLE = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, GREY)

WEIGHTS: Colormap = LinearSegmentedColormap.from_list("qkv_weights", ["#FFFFFF", "#C6DFF0", "#5BA3D0", BLUE, "#01304D"])
SIGNED: Colormap = LinearSegmentedColormap.from_list("qkv_signed", ["#7A3300", VERMILION, "#FFFFFF", BLUE, "#01304D"])

WIDTH = 6.88  # inches: the book's column, 688 CSS pixels wide
CSS_DPI = 100
PIXEL_RATIO = 2  # sharp on screens of double density
PHONE = "image/vnd.qkv.phone"  # a PNG beside the ordinary one, which only the book's pages look for

FONTS = Path(__file__).parent / "fonts"


def use() -> None:
    """Make every figure that follows look like the course's."""
    for path in sorted(FONTS.glob("*.ttf")):
        font_manager.fontManager.addfont(path)
    for colours in (WEIGHTS, SIGNED):
        if colours.name not in mpl.colormaps:
            mpl.colormaps.register(colours)
    mpl.rcParams.update(
        {
            "font.family": ["Source Sans 3", "DejaVu Sans"],
            "font.size": 10.5,
            "mathtext.fontset": "cm",
            "axes.titlesize": 11.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.titlepad": 8,
            "axes.labelcolor": INK,
            "axes.edgecolor": GREY,
            "axes.linewidth": 0.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=CYCLE),
            "axes.axisbelow": True,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "grid.color": GREY,
            "grid.alpha": 0.25,
            "grid.linewidth": 0.7,
            "xtick.color": GREY,
            "ytick.color": GREY,
            "xtick.labelcolor": INK,
            "ytick.labelcolor": INK,
            "xtick.labelsize": 9.5,
            "ytick.labelsize": 9.5,
            "text.color": INK,
            "legend.frameon": False,
            "legend.fontsize": 9.5,
            "lines.linewidth": 2.0,
            "lines.markersize": 5,
            "errorbar.capsize": 3,
            "image.cmap": WEIGHTS.name,
            "image.interpolation": "nearest",
            "figure.figsize": (WIDTH, 3.2),
            "figure.dpi": CSS_DPI,
            "figure.constrained_layout.use": True,
            "figure.titlesize": 12.5,
            "figure.titleweight": "bold",
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "savefig.dpi": CSS_DPI * PIXEL_RATIO,
        }
    )


def show(fig: Figure, alt: str) -> None:
    """Show a figure and close it. While the book is made (`QKV_PHONE=on`), it is drawn for a phone as well.

    Args:
        fig: what `plt.subplots` or `plt.figure` gave.
        alt: what there is to see, in a sentence or two, for a reader who cannot see it.
    """
    if not alt.strip():
        raise ValueError("figures.show needs alt text: say in a sentence what there is to see, as alt='...'")
    data, metadata = bundle(fig, " ".join(alt.split()))
    if os.environ.get("QKV_PHONE") == "on":
        make_narrow(fig)
        data[PHONE] = png(fig)
    plt.close(fig)
    if not _in_notebook():
        print(data["text/plain"])
        return
    from IPython.display import display

    display(data, metadata=metadata, raw=True)


def bundle(fig: Figure, alt: str) -> tuple[dict[str, str], dict[str, Any]]:
    """A figure as a notebook stores it: the picture, its words, and its size in CSS pixels."""
    width, height = (round(inches * CSS_DPI) for inches in fig.get_size_inches())
    data = {"image/png": png(fig), "text/plain": f"Figure: {alt}"}
    # needs_background: JupyterLab's dark theme puts a light ground under dark ink
    return data, {"image/png": {"width": width, "height": height, "alt": alt}, "needs_background": "light"}


def png(fig: Figure) -> str:
    """The bytes of the picture, as base 64."""
    picture = BytesIO()
    fig.savefig(picture, format="png", dpi=CSS_DPI * PIXEL_RATIO, metadata={"Software": None})
    return b64encode(picture.getvalue()).decode("ascii")


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and shell.__class__.__name__ == "ZMQInteractiveShell"
