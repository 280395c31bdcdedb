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

from qkv.authoring.build.bibliography import PLACE, Citation
from qkv.course import AuthoringError, Chapter

CALLOUTS = {
    "admonition", "attention", "caution", "danger", "error", "hint", "important", "margin", "note", "seealso",
    "sidebar", "tip", "topic", "warning",
}  # fmt: skip
DIRECTIVES = CALLOUTS | {"dropdown", "index", "math", "figure", "image", "table", "code", "code-block", "raw"}
ROLES = {"cite:p", "cite:t", "eq", "index", "ref", "numref", "doc", "term", "math", "abbr", "code", "kbd", "sup", "sub"}

FENCE = re.compile(r"^(?P<indent> *)(?P<mark>`{3,}(?=[^`]*$)|:{3,}|~{3,})\s*(?P<info>.*)$")
DIRECTIVE = re.compile(r"^\{(?P<name>[\w:.-]+)\}\s*(?P<argument>.*)$")
OPTION = re.compile(r"^:(?P<key>[\w-]+):\s*(?P<value>.*)$")
TARGET = re.compile(r"^\([\w:.-]+\)=\s*$")
MATH_END = re.compile(r"\$\$\s*(?:\((?P<label>[\w:.-]+)\))?\s*$")
HEADING = re.compile(r"^#{1,6}\s+(?P<text>.+?)\s*#*$")
INLINE = re.compile(
    r"\{(?P<role>[\w:.-]+)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)(?!`)"  # {eq}`attention`
    r"|(?P<code>(?P<fence>`+)(?!`).*?(?<!`)(?P=fence)(?!`))"  # `code`: left as it is
    r"|\]\((?P<link>[^()\s]+)(?P<title>\s+\"[^\"]*\")?\)",  # ](02_scaling.md#why-divide)
    re.DOTALL,
)


@dataclass
class Directive:
    """A fenced directive taken apart; `line` is where it stands in its text, from 0."""

    name: str
    argument: str
    options: dict[str, str]
    body: list[str]
    indent: str
    line: int


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
        return "\n".join(self._lowered(text.splitlines(), first_line)).strip("\n")

    def _lowered(self, lines: list[str], first_line: int) -> Iterator[str]:
        for piece in _pieces(lines):
            if isinstance(piece, Directive):
                for line in self._directive(piece, first_line + piece.line):
                    yield piece.indent + line if line else line
            elif piece[0] == "code":
                yield from piece[1]
            elif piece[0] == "math":
                yield from self._math(piece[1])
            else:
                self._refuse_broken_fences(piece[1], first_line)
                kept = [line for line in piece[1] if not TARGET.match(line) and not line.startswith("% ")]
                yield from self._inline("\n".join(kept), first_line).split("\n") if kept else ()

    def _refuse_broken_fences(self, lines: list[str], first_line: int) -> None:
        for line in lines:
            if re.match(r"\s*`{3,}\{", line):
                raise AuthoringError(
                    f"{self.chapter.where(first_line)} or below: {line.strip()!r} opens no directive, because its "
                    "title holds backticks. Fence it with colons: `:::{admonition} Title`."
                )

    def _math(self, lines: list[str]) -> list[str]:
        end = MATH_END.search(lines[-1])
        if end is None or end["label"] is None:
            return lines
        body = "\n".join([*lines[:-1], lines[-1][: end.start()]]).strip().removeprefix("$$").strip()
        return self._equation(body, end["label"])

    def _equation(self, body: str, label: str | None) -> list[str]:
        if label:
            tag = rf"\tag{{{self.equations[label]}}}"
            aligned = re.search(r"\\end\{(align|gather)\*?\}\s*$", body)
            at = aligned.start() if aligned else len(body)
            body = f"{body[:at].rstrip()} {tag}{' ' if aligned else ''}{body[at:]}"
        return ["$$", *body.splitlines(), "$$"]

    def _directive(self, directive: Directive, line: int) -> list[str]:
        name, argument = directive.name, self._inline(directive.argument, line)
        body_line = line + 1 + len(directive.options)
        if name not in DIRECTIVES:
            raise AuthoringError(
                f"{self.chapter.where(line)}: {{{name}}} has no form that plain JupyterLab shows. "
                f"Use one of {', '.join(sorted(DIRECTIVES))}."
            )
        if name == "math":
            return self._equation("\n".join(directive.body).strip(), directive.options.get("label"))
        if name in ("code", "code-block"):
            return [f"```{argument}", *directive.body, "```"]
        if name == "raw":
            return directive.body
        if name == "index":  # a notebook has none
            return []
        if name in ("figure", "image"):
            picture = f"![{directive.options.get('alt', '')}]({self._link(argument)})"
            return [picture, *([""] if directive.body else []), *self._lowered(directive.body, body_line)]
        body = "\n".join(self._lowered(directive.body, body_line)).strip("\n").splitlines()
        if name == "table":
            return [f"**{argument}**", "", *body] if argument else body
        title = argument or name.capitalize()
        if name == "dropdown" or "dropdown" in directive.options.get("class", ""):
            return ["<details>", f"<summary>{_html(title)}</summary>", "", *body, "", "</details>"]
        return [f"> **{title}**", ">", *(f"> {row}".rstrip() for row in body)]

    def _inline(self, text: str, line: int) -> str:
        def lowered(match: re.Match[str]) -> str:
            if match["role"]:
                return self._role(match["role"], match["content"], line)
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
    for piece in _pieces(text.splitlines()):
        if isinstance(piece, Directive) and piece.name != "math":
            found += labels("\n".join(piece.body))
        elif isinstance(piece, Directive):
            found += [piece.options["label"]] if piece.options.get("label") else []
        elif piece[0] == "math" and (end := MATH_END.search(piece[1][-1])) and end["label"]:
            found.append(end["label"])
    return tuple(found)


@cache
def anchors(text: str) -> dict[str, str]:
    """The headings of a chapter: MyST's anchor -> JupyterLab's."""
    from myst_parser.mdit_to_docutils.base import default_slugify

    found: dict[str, str] = {}
    for piece in _pieces(text.splitlines()):
        if isinstance(piece, Directive) or piece[0] != "text":
            continue
        for line in piece[1]:
            if match := HEADING.match(line):
                title = re.sub(r"[`*]", "", match["text"])
                words = re.sub(r"\$[^$]*\$", "", title)  # MyST leaves math out of an anchor, JupyterLab does not
                found[default_slugify(words)] = title.replace(" ", "-")
    return found


def _pieces(lines: list[str]) -> Iterator[Directive | tuple[str, list[str]]]:
    """Cut a text into directives, code blocks ("code"), display equations ("math") and the rest ("text")."""
    text: list[str] = []
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        is_math = lines[at].lstrip().startswith("$$")
        if not fence and not is_math:
            text.append(lines[at])
            at += 1
            continue
        if text:
            yield "text", text
            text = []
        if fence:
            end = _closing(lines, at, fence["mark"])
            yield _fenced(lines, at, end, fence)
        else:
            end = at
            alone = lines[at].strip() == "$$" or not MATH_END.search(lines[at].strip()[2:])
            while alone:
                end += 1
                alone = end < len(lines) - 1 and not MATH_END.search(lines[end])
            yield "math", lines[at : end + 1]
        at = end + 1
    if text:
        yield "text", text


def _closing(lines: list[str], opened: int, mark: str) -> int:
    for at in range(opened + 1, len(lines)):
        closing = lines[at].strip()
        if len(closing) >= len(mark) and closing == mark[0] * len(closing):
            return at
    return len(lines)


def _fenced(lines: list[str], opened: int, closed: int, fence: re.Match[str]) -> Directive | tuple[str, list[str]]:
    directive = DIRECTIVE.match(fence["info"].strip())
    if directive is None:
        return "code", lines[opened : closed + 1]
    indent = fence["indent"]
    inside = [line.removeprefix(indent) for line in lines[opened + 1 : closed]]
    options: dict[str, str] = {}
    while inside and (option := OPTION.match(inside[0])):
        options[option["key"]] = option["value"].strip()
        inside.pop(0)
    while inside and not inside[0].strip():
        inside.pop(0)
    return Directive(directive["name"], directive["argument"].strip(), options, inside, indent, opened)


def _html(markdown: str) -> str:
    """Inline code and emphasis of a title as HTML, since `<summary>` takes no Markdown."""
    text = markdown.replace("&", "&amp;").replace("<", "&lt;")
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
