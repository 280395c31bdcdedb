"""Formulas are set while the book is built: a page shows them without a script, at once, and with their MathML.

MathJax itself does it, from the files of an installed package (sphinx-mathjax-offline carries 3.2.2), in V8.
"""

from __future__ import annotations

import atexit
import functools
import importlib.metadata
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

PACKAGE = "sphinx-mathjax-offline"
PARTS = (
    "loader.js",
    "core.js",
    "adaptors/liteDOM.js",
    "input/tex-base.js",
    "input/tex/extensions/ams.js",
    "input/tex/extensions/newcommand.js",
    "output/chtml.js",
    "output/chtml/fonts/tex.js",
    "a11y/assistive-mml.js",
)
FONTS = "output/chtml/fonts/woff-v2"
STYLES = "math.css"
WRONG = re.compile(r'data-mjx-error="([^"]*)"')

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    # Sphinx prefers a renderer that was added to its own
    app.add_html_math_renderer("typeset", (visit_math, None), (visit_displaymath, None))
    app.connect("html-page-context", add_styles)
    app.connect("build-finished", write_styles, priority=100)  # before unused styles are left out


@functools.cache
def mathjax_files() -> Path:
    """The folder of the installed package that holds MathJax."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        raise ExtensionError(f"MathJax is not installed. Install it with: pip install {PACKAGE}") from None
    for file in files:
        if file.name == "tex-chtml.js":
            return Path(str(file.locate())).parent
    raise ExtensionError(f"{PACKAGE} has no tex-chtml.js. Install it again: pip install --force-reinstall {PACKAGE}")


@functools.cache
def mathjax() -> MiniRacer:
    """MathJax, ready to set formulas."""
    engine = MiniRacer()
    atexit.register(engine.close)  # left to the garbage collector, its thread never ends
    engine.eval("globalThis.global = globalThis; globalThis.MathJax = { loader: { load: [] } };")
    for part in PARTS:
        engine.eval((mathjax_files() / part).read_text("utf-8"))
    engine.eval(Path(__file__).with_suffix(".js").read_text("utf-8"))
    return engine


@functools.cache
def typeset(tex: str, display: bool) -> str:
    """A formula as HTML.

    Raises:
        ValueError: MathJax does not understand it.
    """
    html = str(mathjax().call("typeset", tex, display))
    if wrong := WRONG.search(html):
        raise ValueError(f"MathJax does not understand {tex.strip()!r}: {wrong[1]}")
    return html


def in_page(node: nodes.Node, tex: str, display: bool) -> str:
    try:
        return typeset(tex, display)
    except ValueError as error:
        logger.warning(str(error), location=node)
        return ""


def visit_math(translator: Any, node: nodes.math) -> None:
    translator.body.append(translator.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    translator.body.append(in_page(node, node.astext(), display=False) + "</span>")
    raise nodes.SkipNode


def visit_displaymath(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate nohighlight"))
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append(in_page(node, displayed(node.astext(), bool(node["nowrap"])), display=True) + "</div>\n")
    raise nodes.SkipNode


def displayed(tex: str, whole: bool) -> str:
    """TeX of a display: its lines are aligned at &, as everywhere in Sphinx, unless it is whole as it is."""
    parts = [part for part in tex.split("\n\n") if part.strip()]
    if whole or not parts:
        return tex
    parts = [rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part for part in parts]
    return parts[0] if len(parts) == 1 else r"\begin{gathered}" + r"\\".join(parts) + r"\end{gathered}"


def add_styles(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if app.env.get_domain("math").has_equations(pagename):  # type: ignore[attr-defined]
        app.add_css_file(STYLES)


def write_styles(app: Sphinx, exception: Exception | None) -> None:
    """MathJax's styles and fonts; `prune_assets` leaves out what no page uses."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    (static / STYLES).write_text(str(mathjax().call("styles")), encoding="utf-8")
    shutil.copytree(mathjax_files() / FONTS, static / "math-fonts", dirs_exist_ok=True)
