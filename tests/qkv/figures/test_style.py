"""The look of figures, and how a notebook stores one."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from itertools import combinations, pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb
from PIL import Image

from qkv import figures
from qkv.figures import style


def drawn() -> plt.Figure:
    fig, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="√d_k and σ")
    ax.set_title("Does it rise?")
    ax.legend()
    return fig


def test_the_type_is_our_own_whatever_the_machine_has() -> None:
    for weight in ("normal", "bold"):
        path = font_manager.findfont(font_manager.FontProperties(family="Source Sans 3", weight=weight))
        assert path.startswith(str(style.FONTS))


def test_a_figure_is_as_wide_as_the_column_and_sharp() -> None:
    data, metadata = style.bundle(drawn(), "A line.")
    assert metadata["image/png"] == {"width": 688, "height": 320, "alt": "A line."}
    picture = Image.open(BytesIO(b64decode(data["image/png"])))
    assert picture.size == (1376, 640)
    assert data["text/plain"] == "Figure: A line."


def test_the_page_shows_through() -> None:
    data, metadata = style.bundle(drawn(), "A line.")
    picture = Image.open(BytesIO(b64decode(data["image/png"])))
    assert picture.convert("RGBA").getpixel((2, 2))[3] == 0
    assert metadata["needs_background"] == "light"  # for JupyterLab's dark theme


def test_the_same_figure_gives_the_same_bytes() -> None:
    assert style.bundle(drawn(), "A line.") == style.bundle(drawn(), "A line.")


def test_show_closes_the_figure_and_speaks_where_there_is_no_screen(capsys: pytest.CaptureFixture[str]) -> None:
    fig = drawn()
    figures.show(fig, alt="A line\n  that rises.")
    assert capsys.readouterr().out == "Figure: A line that rises.\n"
    assert not plt.fignum_exists(fig.number)


def test_show_asks_for_words() -> None:
    with pytest.raises(ValueError, match=r"needs alt text: say in a sentence what there is to see, as alt='\.\.\.'"):
        figures.show(drawn(), alt=" ")


# Machado et al. 2009, severity 1: what a reader without red, green or blue receptors sees, in linear RGB
BLINDNESS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lightness(linear: np.ndarray) -> float:
    return float(np.clip(linear, 0, 1) @ [0.2126, 0.7152, 0.0722])


def linear(colour: str) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("kind", BLINDNESS)
def test_queries_keys_and_values_can_be_told_apart(kind: str) -> None:
    matrix = np.array(BLINDNESS[kind])
    for a, b in combinations((figures.QUERY, figures.KEY, figures.VALUE), 2):
        seen = [np.clip(matrix @ linear(colour), 0, 1) ** (1 / 2.2) for colour in (a, b)]
        assert np.linalg.norm(seen[0] - seen[1]) > (0.1 if kind == "tritan" else 0.2), (a, b)


def test_more_weight_is_always_darker() -> None:
    steps = [lightness(linear(mpl.colors.to_hex(figures.WEIGHTS(x)))) for x in np.linspace(0, 1, 50)]
    assert all(a > b for a, b in pairwise(steps))


def test_the_colours_are_registered() -> None:
    assert mpl.rcParams["image.cmap"] == "qkv_weights"
    assert "qkv_signed" in mpl.colormaps
