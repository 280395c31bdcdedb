"""A light book: what the theme and MathJax bring along, and no page uses, is left out of the built pages.

Styles lose the rules whose classes occur nowhere, icon and formula fonts the glyphs that no style draws, pictures all
but 256 colours. Scripts go that nothing needs: FontAwesome's (its font does the same), the search outside of its page.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tinycss2
from fontTools import subset
from fontTools.ttLib import TTFont
from PIL import Image
from sphinx.application import Sphinx

Array = npt.NDArray[Any]

NAME = re.compile(r"[A-Za-z_][\w-]*")
CLASS = re.compile(r"\.((?:[\w-]|\\.)+)")
ATTRIBUTE = re.compile(r"\[[^\]]*\]")
ICON_FONTS, MATH_FONTS = "vendor/fontawesome/webfonts", "math-fonts"
DRAWN = re.compile(r'content:\s*"((?:[^"\\]|\\.)+)"')
# lines of a page's head that ask for what is not needed
NOT_NEEDED = re.compile(r'^.*(?:scripts/fontawesome\.js|rel="preload" as="font").*\n', re.MULTILINE)
SEARCHING = re.compile(
    r'^.*<script src="[^"]*(?:search|searchtools|language_data|searchindex)\.js[^"]*"></script>\n', re.MULTILINE
)
PICTURE = re.compile(r'(?<=src="data:image/png;base64,)[A-Za-z0-9+/=]+')
FIGURE = re.compile(r'<img (?![^>]*loading=)(?=[^>]*src="([^"]*_images/[^"]*)")')
# docutils calls the bibliography a list, and its entries something else than items: to a screen reader it is broken
ROLE = re.compile(r'(<div(?=[^>]* class="citation)[^>]*?) role="(?:list|doc-biblioentry)"')


def setup(app: Sphinx) -> None:
    app.connect("build-finished", lighten, priority=900)


def lighten(app: Sphinx, exception: Exception | None) -> None:
    """Make the built book light, in place; again is no harm."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for path in out.rglob("*.html"):
        path.write_text(lighter_page(path.read_text("utf-8"), path), encoding="utf-8")
    for path in [*(out / "_static").rglob("*.map"), out / "_static" / "scripts" / "fontawesome.js"]:
        path.unlink(missing_ok=True)
    used = names([*out.rglob("*.html"), *(out / "_static").rglob("*.js")])
    for path in (out / "_static").rglob("*.css"):
        path.write_text(lighter_styles(path.read_text("utf-8"), used), encoding="utf-8")
    lighter_fonts(out / "_static")
    for path in (out / "_images").glob("*.png"):
        path.write_bytes(lighter_picture(path.read_bytes()))


def names(files: list[Path]) -> set[str]:
    """Every word in these files that could be a class."""
    return {name for file in files for name in NAME.findall(file.read_text("utf-8"))}


def lighter_page(html: str, path: Path) -> str:
    """A page without the scripts and roles that it does not need; figures keep their place and come when they are near.

    Args:
        path: where it lies, to find its figures.
    """
    html = NOT_NEEDED.sub("", html)
    if path.name != "search.html":
        html = SEARCHING.sub("", html)
    html = ROLE.sub(r"\1", html)
    html = FIGURE.sub(lambda match: f'<img loading="lazy" {size_attributes(path.parent / match[1])}', html)
    return PICTURE.sub(lambda match: b64encode(lighter_picture(b64decode(match[0]))).decode("ascii"), html)


def size_attributes(picture: Path) -> str:
    """A picture's width and height as attributes, so that nothing moves when it comes."""
    if picture.suffix != ".png" or not picture.is_file():
        return ""
    width, height = Image.open(picture).size
    return f'width="{width}" height="{height}" '


def lighter_styles(css: str, used: set[str]) -> str:
    """The rules of a style sheet that can apply where only these names occur as classes."""
    kept: list[str] = []
    for rule in tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True):
        if rule.type == "qualified-rule":
            selectors = [s for s in split(tinycss2.serialize(rule.prelude)) if can_match(s, used)]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif (
            rule.type == "at-rule"
            and rule.content is not None
            and rule.lower_at_keyword in ("media", "supports", "layer")
        ):
            inner = lighter_styles(tinycss2.serialize(rule.content), used)
            if inner:
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude).rstrip()}{{{inner}}}")
        elif rule.type == "at-rule":
            kept.append(rule.serialize())
        else:
            raise ValueError(f"a style sheet of the theme cannot be read: {rule.message}")
    return "\n".join(kept)


def split(selectors: str) -> list[str]:
    """A list of selectors at its commas, but not at those in brackets."""
    found, depth = [""], 0
    for character in selectors:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [selector.strip() for selector in found]


def can_match(selector: str, used: set[str]) -> bool:
    """Does every class that a selector requires occur? Classes inside `:not(…)` and its like are not required."""
    plain = ATTRIBUTE.sub("", selector)
    while (shorter := re.sub(r"\([^()]*\)", "", plain)) != plain:
        plain = shorter
    return all(name.replace("\\", "") in used for name in CLASS.findall(plain))


def lighter_fonts(static: Path) -> None:
    """Icon and formula fonts with only the characters that some style draws."""
    drawn = {
        ord(character)
        for path in static.rglob("*.css")
        for text in DRAWN.findall(path.read_text("utf-8"))
        for character in unescaped(text)
    }
    for folder in (ICON_FONTS, MATH_FONTS):
        for path in [*(static / folder).glob("*.ttf"), *(static / folder).glob("*.woff")]:
            font = TTFont(path)
            wanted = drawn & font.getBestCmap().keys()
            if not wanted:
                continue
            if "FFTM" in font:  # FontForge's time stamp, of which fontTools would warn
                del font["FFTM"]
            slim = subset.Subsetter(subset.Options(hinting=False))
            slim.populate(unicodes=wanted)
            slim.subset(font)
            font.flavor = "woff"
            font.save(path.with_suffix(".woff"))
    for path in (static / ICON_FONTS).iterdir():
        if path.suffix != ".woff":
            path.unlink()
    theme = static / "styles" / "pydata-sphinx-theme.css"
    one_source = r'src:url(\1.woff) format("woff")'
    theme.write_text(
        re.sub(r'src:url\((\S*?/fa-[\w-]+)\.woff2\) format\("woff2"\),[^;}]*', one_source, theme.read_text("utf-8")),
        "utf-8",
    )


def unescaped(text: str) -> str:
    r"""The characters that a CSS string stands for: "\f002" is one."""
    text = re.sub(r"\\([0-9A-Fa-f]{1,6})\s?", lambda match: chr(int(match[1], 16)), text)
    return re.sub(r"\\(.)", r"\1", text)


def lighter_picture(png: bytes) -> bytes:
    """A picture with at most 256 colours, if that is smaller. Colours of areas stay exactly as they are."""
    picture = Image.open(BytesIO(png))
    if picture.mode == "P":
        return png
    pixels = np.asarray(picture.convert("RGBA")).view(np.uint32)[..., 0]
    found, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    colours = found.view(np.uint8).reshape(-1, 4)
    chosen, nearest = palette(colours, counts)
    few = Image.fromarray(nearest[places].reshape(pixels.shape).astype(np.uint8), "P")
    few.putpalette(colours[chosen].tobytes(), "RGBA")
    small = BytesIO()
    few.save(small, format="PNG", optimize=True)
    return min(png, small.getvalue(), key=len)


def palette(colours: Array, counts: Array, size: int = 256) -> tuple[Array, Array]:
    """Choose colours: half of them the most frequent, which fill areas; then, one by one, the worst served of the rest.

    Args:
        colours: all that occur, (n, 4), red, green, blue, opacity.
        counts: how often each does (n,).

    Returns:
        The chosen ones (indices), and for each colour which of them stands for it.
    """
    opacity = colours[:, 3:] / 255.0
    points = np.concatenate([colours[:, :3] * opacity, colours[:, 3:]], axis=1)  # what is clear has no colour
    chosen = list(np.argsort(-counts, kind="stable")[: size // 2])
    distances = np.stack([((points - points[i]) ** 2).sum(axis=1) for i in chosen])
    nearest, error = distances.argmin(axis=0), distances.min(axis=0)
    while len(chosen) < size and error.max() > 0:
        worst = int(error.argmax())
        distance = ((points - points[worst]) ** 2).sum(axis=1)
        closer = distance < error
        nearest[closer], error[closer] = len(chosen), distance[closer]
        chosen.append(worst)
    return np.array(chosen), nearest
