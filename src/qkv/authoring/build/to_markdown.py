"""MyST Markdown -> the Markdown that plain JupyterLab shows well.

An admonition becomes a block quote with a bold title, a dropdown `<details>`, a labelled equation carries its number,
and links between chapters lead to notebooks. What has no plain form is refused: silence would hide it from students.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import default_slugify
from myst_parser.parsers.mdit import create_md_parser

from qkv.authoring.build.bibliography import PLACE, Citation
from qkv.course import AuthoringError, Chapter

CALLOUTS = {
    "admonition", "attention", "caution", "danger", "error", "hint", "important", "margin", "note", "seealso",
    "sidebar", "tip", "topic", "warning",
}  # fmt: skip
DIRECTIVES = CALLOUTS | {"dropdown", "index", "math", "figure", "image", "table", "code", "code-block", "raw"}
ROLES = {"cite:p", "cite:t", "eq", "index", "ref", "numref", "doc", "term", "math", "abbr", "code", "kbd", "sup", "sub"}

EXTENSIONS = {"amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"}  # as in _config.yml
# The page's own parser, for blocks alone: its tokens know the lines of a block, but not where in a line a role stands.
BLOCKS = create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML).disable("inline")
GONE = {"myst_target", "myst_line_comment"}
APART = GONE | {"fence", "colon_fence", "code_block", "math_block", "math_block_label", "amsmath"}
TITLE = MarkdownIt("zero").enable(["backticks", "emphasis"])  # `<summary>` takes HTML alone
DIRECTIVE = re.compile(r"\s*\{(?P<name>[\w:.-]+)\}\s*(?P<argument>.*?)\s*$")
OPTIONS = re.compile(r"\A(?::[\w-]+:.*\n)*(?:[ \t]*\n)*")
OPTION = re.compile(r"^:([\w-]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
INLINE = re.compile(
    r"\{(?P<role>[\w:.-]+)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)(?!`)"  # {eq}`attention`
    r"|(?P<code>(?P<fence>`+)(?!`).*?(?<!`)(?P=fence)(?!`))"  # `code`: left as it is
    r"|\[(?P<words>[^\[\]]+)\]\(\.\./\w+\.md(?:#[^()\s]*)?\)"  # [the ledger](../claims.md)
    r"|\]\((?P<link>[^()\s]+)(?P<title>\s+\"[^\"]*\")?\)",  # ](02_scaling.md#why-divide)
    re.DOTALL,
)


class Directive(NamedTuple):
    """A directive taken apart; `start` is how many lines its body stands below its opening."""

    name: str
    argument: str
    options: dict[str, str]
    body: str
    start: int


@dataclass
class Plain:
    """Lowers the Markdown of one chapter; equations keep their numbers across its cells.

    Args:
        chapter: whose source it is; links and equation numbers follow from it.
        headings: for each chapter's name, its headings by the anchor that MyST gives them.
        equations: the number of each labelled equation; those of other chapters may be given.
        citations: what can be cited, by key.
    """

    chapter: Chapter
    headings: dict[str, dict[str, str]] = field(default_factory=dict)
    equations: dict[str, str] = field(default_factory=dict)
    citations: dict[str, Citation] = field(default_factory=dict)

    def number_equations(self, text: str) -> None:
        """Give each labelled equation the number that the page gives it. Call it for all cells first."""
        for label in labels(text):
            own = [n for n in self.equations.values() if n.startswith(f"{self.chapter.number}.")]
            self.equations[label] = f"{self.chapter.number}.{len(own) + 1}"

    def lower(self, text: str, first_line: int = 1) -> str:
        """The text lowered for JupyterLab. `first_line` is its first line in the chapter, for messages."""
        return "\n".join(self._lowered(text, first_line)).strip("\n")

    def _lowered(self, text: str, first_line: int) -> Iterator[str]:
        for token, at, lines in _blocks(text):
            if token is None:
                self._refuse_broken_fences(lines, first_line + at)
                yield from self._inline("\n".join(lines), first_line + at).split("\n")
            elif directive := _directive(token):
                before = lines[0][: lines[0].index(token.markup)]  # an indent, or the marks of a list or a quote
                for line in self._directive(directive, first_line + at):
                    yield before + line if line else before.rstrip()
                    before = re.sub(r"[^\s>]", " ", before)
            elif token.type not in GONE:
                yield from lines

    def _refuse_broken_fences(self, lines: list[str], first_line: int) -> None:
        for number, line in enumerate(lines, first_line):
            if re.match(r"\s*`{3,}\{", line):
                raise AuthoringError(
                    f"{self.chapter.where(number)}: {line.strip()!r} opens no directive, because its title holds "
                    "backticks. Fence it with colons: `:::{admonition} Title`."
                )

    def _equation(self, body: str, label: str | None) -> list[str]:
        if label:
            tag = rf"\tag{{{self.equations[label]}}}"
            aligned = re.search(r"\\end\{(align|gather)\*?\}\s*$", body)
            at = aligned.start() if aligned else len(body)
            body = f"{body[:at].rstrip()} {tag}{' ' if aligned else ''}{body[at:]}"
        return ["$$", *body.splitlines(), "$$"]

    def _directive(self, directive: Directive, line: int) -> list[str]:
        name, argument = directive.name, self._inline(directive.argument, line)
        if name not in DIRECTIVES:
            raise AuthoringError(
                f"{self.chapter.where(line)}: {{{name}}} has no form that plain JupyterLab shows. "
                f"Use one of {', '.join(sorted(DIRECTIVES))}."
            )
        if name == "math":
            return self._equation(directive.body.strip(), directive.options.get("label"))
        if name in ("code", "code-block"):
            return [f"```{argument}", *directive.body.splitlines(), "```"]
        if name == "raw":
            return directive.body.splitlines()
        if name == "index":  # a notebook has none
            return []
        body = self.lower(directive.body, line + directive.start).splitlines()
        if name in ("figure", "image"):
            picture = f"![{directive.options.get('alt', '')}]({self._link(argument)})"
            return [picture, *(["", *body] if body else [])]
        if name == "table":
            return [f"**{argument}**", "", *body] if argument else body
        title = argument or name.capitalize()
        if name == "dropdown" or "dropdown" in directive.options.get("class", ""):
            return ["<details>", f"<summary>{TITLE.renderInline(title)}</summary>", "", *body, "", "</details>"]
        return [f"> **{title}**", ">", *(f"> {row}".rstrip() for row in body)]

    def _inline(self, text: str, line: int) -> str:
        def lowered(match: re.Match[str]) -> str:
            if match["role"]:
                return self._role(match["role"], match["content"], line)
            if match["words"]:  # a page of the book alone: JupyterLab has no way to it, and shows a dead link
                return f"{match['words']} (in the book)"
            if match["link"]:
                return f"]({self._link(match['link'])}{match['title'] or ''})"
            return match[0]

        return INLINE.sub(lowered, text)

    def _role(self, role: str, content: str, line: int) -> str:
        if role not in ROLES:
            raise AuthoringError(
                f"{self.chapter.where(line)}: the role {{{role}}} has no form that plain JupyterLab shows. "
                f"Use one of {', '.join(sorted(ROLES))}."
            )
        if role == "eq":
            if content not in self.equations:
                raise AuthoringError(f"{self.chapter.where(line)}: no equation is labelled {content}.")
            return f"({self.equations[content]})"
        if role in ("cite:p", "cite:t"):
            if content not in self.citations:
                raise AuthoringError(f"{self.chapter.where(line)}: {content} is cited, but not in {PLACE}.")
            cited = self.citations[content]
            return cited.textual if role == "cite:t" else cited.parenthetical
        if role == "math":
            return f"${content}$"
        if role == "code":
            return f"`{content}`"
        text = re.sub(r"\s*<[^<>]*>$", "", content)
        return f"<{role}>{text}</{role}>" if role in ("kbd", "sup", "sub") else text

    def _link(self, target: str) -> str:
        """A link of the chapter's source as seen from `notebooks/` and `solutions/`."""
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target) or target.startswith("/"):
            return target
        match = re.fullmatch(r"(?:\./)?(\d\d_\w+)\.md", path)
        chapter = match[1] if match else self.chapter.name
        if anchor and (match or not path):
            anchor = self.headings.get(chapter, {}).get(anchor, anchor)
        if match:
            path = f"{chapter}.ipynb"
        elif path:
            path = posixpath.normpath(f"../book/chapters/{path}")
        return f"{path}#{anchor}" if anchor else path


@cache  # every chapter asks for those of all others
def labels(text: str) -> tuple[str, ...]:
    """The labels of the equations in a text, in order."""
    found: list[str] = []
    for token, _, _ in _blocks(text):
        if token and (directive := _directive(token)):
            label = directive.options.get("label") if directive.name == "math" else None
            found += [label] if label else labels(directive.body)
    return tuple(found)


@cache
def anchors(text: str) -> dict[str, str]:
    """The headings of a chapter: MyST's anchor -> JupyterLab's."""
    found: dict[str, str] = {}
    for opening, inline in pairwise(BLOCKS.parse(text)):
        if opening.type == "heading_open":
            title = re.sub(r"[`*]", "", inline.content)
            words = re.sub(r"\$[^$]*\$", "", title)  # MyST leaves math out of an anchor, JupyterLab does not
            found[default_slugify(words)] = title.replace(" ", "-")
    return found


def _blocks(text: str) -> Iterator[tuple[Token | None, int, list[str]]]:
    """Cut a text into the blocks that stand `APART` and what is between them (None); each with where it begins, from
    0, and its lines."""
    lines = text.splitlines()
    at = 0
    for token in BLOCKS.parse(text):
        if token.map and token.type in APART:
            start, end = token.map
            if at < start:
                yield None, at, lines[at:start]
            yield token, start, lines[start:end]
            at = end
    if at < len(lines):
        yield None, at, lines[at:]


def _directive(token: Token) -> Directive | None:
    """The directive in a block, if it is one. An equation with a label, `$$ … $$ (label)`, counts as one."""
    if token.type == "math_block_label":
        return Directive("math", "", {"label": token.info}, token.content, 0)
    if not (opening := DIRECTIVE.match(token.info)):
        return None
    [head] = OPTIONS.findall(token.content)
    body = token.content.removeprefix(head)
    return Directive(opening["name"], opening["argument"], dict(OPTION.findall(head)), body, 1 + head.count("\n"))
