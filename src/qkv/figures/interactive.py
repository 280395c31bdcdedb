"""Figures that a reader can move: plain HTML and SVG in a cell's output, alike in the book, offline, and in JupyterLab.

    interactive(
        "Which pairs have seen a full turn?",
        controls=[Slider("d", "width", (4, 8, 16), 8), Choice("scheme", "scheme", ("sinusoids", "RoPE"), "RoPE")],
        draw="wavelengths.js",
        still=figure,          # what shows where scripts do not run
        alt="…",
    )

`draw` names a JavaScript file beside this one that defines `draw(kit, values, data)`. `values` holds what the controls
say; `kit` draws (see interactive.js: sizes, scales, elements); what `draw` returns is read out under the drawing. It is
called again whenever a control moves or the width changes. Colours are CSS variables that follow the theme: --ink,
--quiet, --line, and --c0 … --c5 (blue, vermilion, green, orange, purple, grey).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from qkv.figures.style import bundle

HERE = Path(__file__).parent
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Slider:
    """A slider over the values that are listed; arrow keys take it from one to the next."""

    name: str
    label: str
    values: Sequence[float]
    value: float


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    name: str
    label: str
    values: Sequence[str]
    value: str


class Interactive:
    """A figure's HTML, which notebooks show by themselves."""

    def __init__(self, html: str, alt: str) -> None:
        self.html = html
        self.alt = alt

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"


def interactive(
    title: str, *, controls: Sequence[Slider | Choice], draw: str, still: Figure, alt: str, data: Any = None
) -> Interactive:
    """Put a figure that moves together.

    Args:
        title: a question, or its answer.
        controls: what the reader can change.
        draw: name of the JavaScript file here that defines `draw(kit, values, data)`.
        still: the first state as an ordinary figure, for where scripts do not run; it is closed.
        alt: what there is to see, in a sentence or two, for a reader who cannot see it.
        data: anything that JSON can hold, for `draw`.
    """
    alt = " ".join(alt.split())
    if not alt:
        raise ValueError("interactive needs alt text: say in a sentence what there is to see, as alt='...'")
    picture, metadata = bundle(still, alt)
    plt.close(still)
    size = metadata["image/png"]
    script = f"{(HERE / draw).read_text('utf-8')}\n{(HERE / 'interactive.js').read_text('utf-8')}"
    shown = in_script([described(c) for c in controls])
    given = in_script(data)
    # of what it is, not of what it shows: its data are measured and differ in the last digits from machine to machine
    called = "qkv-live-" + hashlib.sha256(f"{title}{script}{shown}".encode()).hexdigest()[:8]
    # Controls and drawing are made by the script: where it does not run, nothing stands there that does not work.
    html = f"""<div class="qkv-live" data-figure="{called}" role="group" aria-label="{escape(title, quote=True)}">
<style>{(HERE / "interactive.css").read_text("utf-8")}</style>
<p class="title">{escape(title)}</p>
<div class="still"><img src="data:image/png;base64,{picture["image/png"]}" alt="{escape(alt, quote=True)}" \
width="{size["width"]}" height="{size["height"]}"><p>A still picture: run the cell, or open the page with scripts on, \
to move it.</p></div>
</div>
<script>(() => {{
{script}
const controls = {shown};
live("{called}", draw, {given});
}})();</script>"""
    return Interactive(html, alt)


def described(control: Slider | Choice) -> dict[str, Any]:
    """A control as the script gets it: the index of its first value, and its kind."""
    kind = "range" if isinstance(control, Slider) else "select"
    start = list(control.values).index(control.value)
    return {"kind": kind, "name": control.name, "label": control.label, "values": list(control.values), "start": start}


def packed(weights: Tensor) -> str:
    """Many weights between 0 and 1 in little room: thousandths, two digits to the base 36 each, first to last."""
    thousandths = (1000 * weights.detach()).round().int().flatten().tolist()
    return "".join(DIGITS[number // 36] + DIGITS[number % 36] for number in thousandths)


def in_script(value: Any) -> str:
    """JSON that may stand in an HTML script: nothing in it can end the script."""
    return json.dumps(value).replace("</", "<\\/")
