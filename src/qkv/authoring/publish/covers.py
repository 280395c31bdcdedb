"""The small drawing of each chapter on the first page: `book/covers/<stem>.svg`, put beside the chapter's line there.

A drawing is 240 by 96 and has no colours of its own: the classes q, k, v, p (queries, keys, values, and one more),
quiet and faint follow the theme; `line` is drawn, not filled; `on` lies on a colour. It adds nothing that the line does
not say, so it is hidden from screen readers.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

FIRST_PAGE = "book/index"
CHAPTER = re.compile(r"(?:^|/)chapters/\d\d_(\w+)")


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", draw)


def draw(app: Sphinx, doctree: nodes.document) -> None:
    """Give each line of the list of chapters its drawing, if there is one."""
    if app.env.docname != FIRST_PAGE:
        return
    for item in list(doctree.findall(nodes.list_item)):
        targets = [link["reftarget"] for link in item.findall(pending_xref)]
        chapter = next(filter(None, map(CHAPTER.search, targets)), None)
        if chapter and (path := cover(Path(app.srcdir), chapter[1])).is_file():
            app.env.note_dependency(str(path))
            item.insert(0, nodes.raw("", path.read_text(encoding="utf-8"), format="html"))


def cover(root: Path, stem: str) -> Path:
    return root / "book" / "covers" / f"{stem}.svg"
