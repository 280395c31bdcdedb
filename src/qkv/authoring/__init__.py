"""From one source to everything that is read: `book/chapters/NN_stem.md` -> student edition, solved edition, page.

1. `chapter` reads the source (jupytext) into prose, code cells and exercises;
2. `definitions` cuts each exercise's code and stub out of `qkv.model` by syntax tree;
3. `to_markdown` turns MyST into the Markdown that JupyterLab shows;
4. `editions` puts the two notebooks together; in the student's, `own_parts` imports what the student has built;
5. `fingerprint` tells whether the solved one has to run again, by the definitions that it reaches (`reach`); `run` runs
   it (nbclient);
6. `building` writes what changed: `qkv build`; `second_seeds` asks its claims again, with other seeds;
7. `claims` reads what a cell has measured, `ledger` makes the page of all claims, `bibliography` knows what is cited;
8. `page` and `sphinx` hand MyST-NB each chapter with the outputs of the solved edition: `jupyter-book build .`;
   `shorten_alts` spares its readers what is there for machines, `typeset` sets formulas, `covers` puts a drawing beside
   each chapter's line on the first page, `prune_assets` leaves out what no page uses;
9. `publishing` runs that build strictly: `qkv book`.
"""

from __future__ import annotations

from qkv.authoring.building import build
from qkv.authoring.publishing import book
from qkv.course import AuthoringError, Course

__all__ = ["AuthoringError", "Course", "book", "build"]
