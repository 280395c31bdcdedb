"""Every figure twice: where its page is narrow, the browser takes the drawing for phones (`qkv.figures.phone`)."""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import nbformat
from PIL import Image
from sphinx.application import Sphinx

from qkv.authoring.build.measured import PHONE
from qkv.course import Chapter, Course

NARROW = "(max-width: 600px)"  # as in book.css
FIGURE = re.compile(r'(?<!/>)<img [^>]*src="([^"]*_images/\w+)\.png"[^>]*>')


def setup(app: Sphinx) -> None:
    app.connect("build-finished", offer_both, priority=800)  # before pages and pictures are made light


def offer_both(app: Sphinx, exception: Exception | None) -> None:
    """Put the drawings for phones beside the others, and name them in the pages."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for chapter in Course(Path(app.srcdir)).chapters():
        for name, picture in drawings(chapter):
            (out / "_images" / name).write_bytes(picture)
    for path in out.glob("book/chapters/*.html"):
        path.write_text(with_drawings(path.read_text("utf-8"), path.parent), encoding="utf-8")


def drawings(chapter: Chapter) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each figure's drawing for a phone. MyST-NB names the other one by its hash."""
    for cell in nbformat.read(chapter.solved, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if PHONE in data:
                yield f"{hashlib.sha256(b64decode(data['image/png'])).hexdigest()}-phone.png", b64decode(data[PHONE])


def with_drawings(html: str, folder: Path) -> str:
    """A page whose figures have their drawing for a phone beside them; again is no harm.

    Args:
        folder: where the page lies.
    """

    def both(image: re.Match[str]) -> str:
        drawing = f"{image[1]}-phone.png"
        if not (folder / drawing).is_file():
            return image[0]
        width, height = Image.open(folder / drawing).size
        source = f'<source media="{NARROW}" srcset="{drawing}" width="{width}" height="{height}"/>'
        return f"<picture>{source}{image[0]}</picture>"

    return FIGURE.sub(both, html)
