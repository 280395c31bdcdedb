"""The Sphinx extension that makes the book: listed in `_config.yml`, so `jupyter-book build .` is all it takes.

- Each chapter is read by `page.chapter_page`, so its outputs come from `solutions/` and nothing runs.
- Figures get the alt text that was stored with them, and on a narrow page their drawing for a phone (`phone_figures`).
- Three pages are filled in when they are read: the claims ledger from all chapters, the conventions and the whole GPT
  from `qkv.model`.
- Download and launch buttons offer the student edition.
- Formulas are set here (`typeset`), and what no page needs is left out (`prune_assets`): nothing comes from a network.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import SphinxError

from qkv import routes
from qkv.authoring.build.bibliography import use_round_brackets
from qkv.authoring.publish.ledger import ledger
from qkv.authoring.publish.one_page import one_page
from qkv.authoring.publish.page import alt_texts, chapter_page
from qkv.authoring.publish.syllabus import Syllabus
from qkv.course import AuthoringError, Chapter, Course

CHAPTERS = "book/chapters/"
LEDGER, CONVENTIONS = "<!-- the claims of all chapters -->", "<!-- the conventions of qkv.model -->"
ONE_PAGE = "<!-- the whole GPT of qkv.model -->"
ROUTES = "<!-- the three routes of qkv.routes -->"


class BookError(SphinxError):
    category = "The book cannot be built"


def setup(app: Sphinx) -> dict[str, Any]:
    use_round_brackets()
    app.setup_extension("sphinx.ext.githubpages")  # .nojekyll: else GitHub's own server hides _static
    app.add_directive("syllabus", Syllabus)
    app.setup_extension("qkv.authoring.publish.typeset")
    app.setup_extension("qkv.authoring.publish.phone_figures")
    app.setup_extension("qkv.authoring.publish.prune_assets")
    app.setup_extension("qkv.authoring.publish.covers")
    app.connect("config-inited", drop_thebe)
    app.connect("builder-inited", read_chapters, priority=600)  # after MyST-NB has made its configuration
    app.connect("source-read", fill_in)
    app.connect("doctree-read", finish_chapter)
    app.connect("html-page-context", offer_student_edition, priority=900)  # after the theme has made its buttons
    app.connect("build-finished", copy_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def read_page(text: str, root: str, name: str) -> Any:
    """`page.chapter_page` for MyST-NB, with errors that Sphinx prints without a traceback."""
    try:
        return chapter_page(text, root, name)
    except AuthoringError as error:
        raise BookError(str(error)) from None


def read_chapters(app: Sphinx) -> None:
    """Give MyST-NB a reader for each chapter. It matches by the end of the path, so one file is a suffix."""
    root = str(app.srcdir)
    try:
        chapters = Course(Path(root)).chapters()
    except AuthoringError as error:
        raise BookError(str(error)) from None
    readers = {
        str(chapter.source.relative_to(root)): (
            "qkv.authoring.publish.sphinx.read_page",
            {"root": root, "name": chapter.name},
            False,
        )
        for chapter in chapters
    }
    config = app.env.mystnb_config  # type: ignore[attr-defined]
    if config.execution_mode != "off":
        raise BookError(
            f"_config.yml: execute_notebooks is {config.execution_mode!r}; it must be 'off', pages never run code."
        )
    config.custom_formats = {**config.custom_formats, **readers}


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put what is made into the page that has a place for it."""
    course = Course(Path(app.srcdir))
    makers: dict[str, Callable[[], str]] = {
        LEDGER: lambda: ledger(course),
        CONVENTIONS: lambda: conventions(course),
        ONE_PAGE: lambda: one_page(course),
        ROUTES: lambda: routes.as_markdown("chapters/", ".md"),
    }
    for place, make in makers.items():
        if place in source[0]:
            try:
                source[0] = source[0].replace(place, make())
            except AuthoringError as error:
                raise BookError(str(error)) from None


def conventions(course: Course) -> str:
    """The conventions of all functions of `qkv.model`: its docstring below the first line, which is Markdown."""
    tree = ast.parse((course.root / "src" / "qkv" / "model" / "__init__.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n\n")[2]


def chapter_of(app: Sphinx, docname: str) -> Chapter | None:
    """The chapter that a document is the page of."""
    if not docname.startswith(CHAPTERS):
        return None
    chapter = Chapter(Path(app.srcdir), docname.removeprefix(CHAPTERS))
    return chapter if chapter.source.is_file() else None


def finish_chapter(app: Sphinx, doctree: nodes.document) -> None:
    """Alt texts, the way to the notebook under the title, and a new page when the solved edition changes."""
    chapter = chapter_of(app, app.env.docname)
    if chapter is None:
        return
    for path in (chapter.solved, chapter.model):
        app.env.note_dependency(str(path))
    texts = alt_texts(chapter)
    for image in doctree.findall(nodes.image):
        alt = texts.get(PurePosixPath(image["uri"]).stem)
        if alt:
            image["alt"] = alt
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is not None:
        up = "../" * app.env.docname.count("/")
        link = f'<a href="{up}notebooks/{chapter.name}.ipynb" download>Download the notebook</a>'
        start = f"or run <code>qkv start</code> and open <code>{chapter.name}.ipynb</code>"
        title.parent.insert(1, nodes.raw("", f'<p class="edition">{link} {start}</p>', format="html"))


def offer_student_edition(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Buttons of a chapter lead to `notebooks/`, never to the page's own source; other pages offer no source at all."""
    chapter = chapter_of(app, pagename)
    for button in context.get("header_buttons", []):
        if button.get("label") == "download-buttons":
            printing = [b for b in button["buttons"] if b.get("label") == "download-pdf-button"]
            button["buttons"] = [{**b, "text": "Print, or save as PDF"} for b in printing]
            if chapter:
                notebook = {
                    "type": "link",
                    "url": context["pathto"](f"notebooks/{chapter.name}.ipynb", 1),
                    "text": "Notebook",
                    "icon": "fas fa-code",
                    "tooltip": "Download the notebook to work in",
                    "label": "download-notebook-button",
                }
                button["buttons"].insert(0, notebook)
        elif button.get("label") == "launch-buttons" and chapter:
            for launch in button["buttons"]:
                if "url" in launch:
                    launch["url"] = launch["url"].replace(f"{pagename}.md", f"notebooks/{chapter.name}.ipynb")


def drop_thebe(app: Sphinx, config: Config) -> None:
    """Remove sphinx-thebe, which Jupyter Book loads by default: its script loads from a CDN and is added twice."""
    for event, listeners in app.events.listeners.items():
        app.events.listeners[event] = [entry for entry in listeners if entry.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files = [(name, options) for name, options in app.registry.css_files if "thebe" not in name]


def copy_files(app: Sphinx, exception: Exception | None) -> None:
    """Copy the notebooks that pages offer."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    (out / "notebooks").mkdir(exist_ok=True)
    for chapter in Course(Path(app.srcdir)).chapters():
        if chapter.student.is_file():
            shutil.copyfile(chapter.student, out / "notebooks" / chapter.student.name)
