"""A chapter as MyST-NB reads it: the author's MyST, the reference's code, the outputs of the solved edition.

Nothing runs here. If the solved edition was made from other code, the page would lie, so that is an error.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64decode
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from qkv.authoring.build.chapter import Code, Prose, Task, read_chapter
from qkv.authoring.build.editions import METADATA
from qkv.authoring.build.measured import PHONE
from qkv.authoring.build.printed import Printed
from qkv.authoring.build.prose_numbers import with_numbers
from qkv.authoring.publish.shorten_alts import shorten_alt
from qkv.course import AuthoringError, Chapter, Course, Facts

LONG = 15  # lines of an experiment that a page shows unfolded
PREDICT = re.compile(r"^```\{admonition\} Predict\n(?:(?!^```).*\n)*```\s*\Z", re.MULTILINE)


def chapter_page(text: str, root: str, name: str) -> nbformat.NotebookNode:
    """The notebook that MyST-NB turns into the page of a chapter.

    Args:
        text: the chapter's source.
        root: the course's folder.
        name: the chapter's name, such as 01_lookup.
    """
    chapter = Chapter(Path(root), name)
    solved = _solved(chapter)
    facts = stored_facts(chapter, solved)
    parts = read_chapter(chapter, Course(chapter.root, facts), text)
    runs = [cell for cell in solved.cells if cell.cell_type == "code"]

    cells: list[nbformat.NotebookNode] = []
    lines: list[int] = []

    def add(cell: nbformat.NotebookNode, line: int) -> None:
        cells.append(cell)
        lines.append(line - 2)  # MyST-NB adds 2 to count from 1

    def add_run(source: str, line: int, shown: str | None = None, **metadata: Any) -> Printed:
        stored = runs.pop(0) if runs else None
        if stored is None or stored.source != source:
            raise _stale(chapter, f"the cell at line {line} was not run as it stands now")
        for output in stored.outputs:  # drawings for phones come later, as files: see phone_figures
            output.get("data", {}).pop(PHONE, None)
        add(new_code_cell(shorten_alt(shown or source), metadata=metadata, outputs=stored.outputs), line)
        return Printed.by(stored.outputs)

    predicted = False  # the reader was asked, and has not seen the answer yet
    for part in with_numbers(chapter, parts, solved):
        if isinstance(part, Prose):
            predicted = predicted or PREDICT.search(part.text) is not None
            add(new_markdown_cell(part.text), part.line)
        elif isinstance(part, Code) and "setup" in part.tags:
            add_run(part.source, part.line, **_folded("setup", "Show imports", "Hide imports"))
        elif isinstance(part, Code):
            answers = predicted and bool(runs and runs[0].outputs)
            printed = add_run(part.source, part.line, part.bare, **folding(part, answers))
            boxes = [
                claim.box(printed) for claim in part.claims
            ]  # below the result, so that no reader sees a verdict first
            if boxes and answers:
                title = "The claim, and its verdict" if len(boxes) == 1 else "The claims, and their verdicts"
                boxes = ["\n\n".join([f"::::::{{dropdown}} {title}", *boxes, "::::::"])]
            for box in boxes:
                add(new_markdown_cell(box), part.line)
            predicted = predicted and not answers
        else:
            add(new_markdown_cell(_card(part, chapter)), part.line)
            folded = {} if part.facts.hand_in else _folded("solution", "Show solution", "Hide solution")
            add_run(part.definition.solved, part.line, **folded)
            add_run(part.check, part.line, tags=["check"])
    if runs:
        raise _stale(chapter, "it holds cells that the chapter no longer has")
    if "made" not in solved.metadata["qkv"]:
        raise _stale(chapter, "it does not say on what it was run")
    add(new_markdown_cell(_made(solved.metadata["qkv"]["made"])), parts[-1].line)
    made: nbformat.NotebookNode = new_notebook(cells=cells, metadata={**METADATA, "source_map": lines})
    return made


def alt_texts(chapter: Chapter) -> dict[str, str]:
    """Hash of each picture in the solved edition -> what it shows, in words. MyST-NB names its files by that hash."""
    found = {}
    for cell in _solved(chapter).cells:
        for output in cell.get("outputs", []):
            for kind, content in output.get("data", {}).items():
                alt = output.metadata.get(kind, {}).get("alt")
                if kind.startswith("image/") and alt:
                    found[hashlib.sha256(b64decode(content)).hexdigest()] = alt
    return found


def _folded(tag: str, show: str, hide: str) -> dict[str, Any]:
    return {"tags": ["hide-input", tag], "mystnb": {"code_prompt_show": show, "code_prompt_hide": hide}}


def folding(part: Code, answers: bool) -> dict[str, Any]:
    """A cell's metadata: long experiments are folded, and so is what comes out after a request to predict it."""
    long = "experiment" in part.tags and len(part.bare.splitlines()) > LONG
    folds = {"hide-input": long, "hide-output": answers}
    tags = [*part.tags, *(tag for tag, fold in folds.items() if fold and tag not in part.tags)]
    if not any(folds.values()):
        return {"tags": tags}
    only = {"hide-input": "the experiment", "hide-output": "what comes out"}
    found = [words for tag, words in only.items() if tag in tags]
    words = found[0] if len(found) == 1 else "the {type}"  # MyST-NB fills it in
    return {"tags": tags, "mystnb": {"code_prompt_show": f"Show {words}", "code_prompt_hide": f"Hide {words}"}}


def _card(task: Task, chapter: Chapter) -> str:
    cell = f"{chapter.student.name}#cell-id={task.name.replace('_', '-')}"
    facts = [*task.terms, f"check it with `{task.check}`", f'stuck? `hint("{task.name}")`']
    return "\n".join(
        [
            f"```{{index}} single: {task.name} (exercise)\n```\n",
            f"(exercise-{task.name.replace('_', '-').lower()})=",
            f":::::{{admonition}} Exercise {task.number}: `{task.name}`",
            ":class: exercise",
            "",
            f"{{.facts}}\n{' · '.join(facts)}",
            "",
            *([] if task.facts.hand_in else ["```python", task.definition.stub, "```"]),
            *(["", f"{{.forbidden}}\n{task.forbidden}"] if task.forbidden else []),
            "",
            "```{raw} html",
            f'<a class="open-cell" hidden data-cell="{cell}">Open this cell in JupyterLab</a>',  # commands.serve
            "```",
            ":::::",
        ]
    )


def _made(made: dict[str, str]) -> str:
    """The line on the machine that produced the numbers."""
    day = date.fromisoformat(made["date"])
    return (
        f"{{.made}}\nThe numbers on this page are those of one run: {made['processor']}, PyTorch {made['torch']}, "
        f"{day.day} {day:%B %Y}. {{ref}}`Yours may differ <other-digits>`."
    )


def _solved(chapter: Chapter) -> nbformat.NotebookNode:
    if not chapter.solved.is_file():
        raise _stale(chapter, "it does not exist")
    stored: nbformat.NotebookNode = nbformat.read(chapter.solved, as_version=4)
    return stored


def stored_facts(chapter: Chapter, solved: nbformat.NotebookNode) -> Callable[[str], Facts]:
    """The facts about exercises that the solved edition stores, so that a page needs none of the exercises."""
    stored = solved.metadata.get("qkv", {}).get("exercises", {})

    def facts(name: str) -> Facts:
        if name not in stored:
            raise _stale(chapter, f"it has no exercise {name}")
        facts_json = stored[name]
        forbidden, hand_in = tuple(facts_json["forbidden"]), facts_json.get("hand_in", "")
        return Facts(facts_json["points"], forbidden, hand_in, effort=facts_json.get("effort", ""))

    return facts


def _stale(chapter: Chapter, why: str) -> AuthoringError:
    solved = chapter.solved.relative_to(chapter.root).as_posix()
    return AuthoringError(f"{chapter.where()}: {solved} is stale: {why}. Refresh it with: qkv build {chapter.stem}")
