"""Predictions that a student wrote into notebooks before they saw the result; counted here, and sent nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from qkv.notebook.progress import course_here

PREDICTION = "My prediction: "  # begins a raw cell: one click, and one can write; it is never run


def count_predictions(notebooks: Path | None = None) -> tuple[int, int]:
    """How many predictions are written, and for how many there is room."""
    folder = notebooks or Path(course_here() or ".") / "notebooks"
    cells = [text for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")) for text in prediction_cells(path)]
    return sum(text.strip() != PREDICTION.strip() for text in cells), len(cells)


def prediction_cells(path: Path) -> Iterator[str]:
    """The texts of a notebook's cells for predictions; none if it cannot be read."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            if cell["cell_type"] == "raw" and source.startswith(PREDICTION.strip()):
                yield source
    except (OSError, ValueError, KeyError, TypeError):
        return
