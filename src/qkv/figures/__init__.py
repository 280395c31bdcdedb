"""What chapters draw. `figures.use()` sets the look, `figures.show(fig, alt="…")` shows a figure with its words.

A chapter's own drawings live in a file of its stem, `figures/<stem>.py`, and are imported from there.
"""

from __future__ import annotations

from qkv.figures.style import (
    BLUE,
    CYCLE,
    GREEN,
    GREY,
    INK,
    KEY,
    ORANGE,
    PURPLE,
    QUERY,
    SIGNED,
    SKY,
    VALUE,
    VERMILION,
    WEIGHTS,
    WIDTH,
    YELLOW,
    show,
    use,
)

__all__ = [
    "BLUE",
    "CYCLE",
    "GREEN",
    "GREY",
    "INK",
    "KEY",
    "ORANGE",
    "PURPLE",
    "QUERY",
    "SIGNED",
    "SKY",
    "VALUE",
    "VERMILION",
    "WEIGHTS",
    "WIDTH",
    "YELLOW",
    "show",
    "use",
]
