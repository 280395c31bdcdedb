"""The two notebooks of a chapter: the student edition to work in, the solved edition to run and to show."""

from __future__ import annotations

from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from qkv.authoring.build.bibliography import citations
from qkv.authoring.build.chapter import Code, Ids, Part, Prose, Task
from qkv.authoring.build.own_parts import built_before, with_own_parts
from qkv.authoring.build.to_markdown import Plain, anchors
from qkv.course import Chapter, Course
from qkv.notebook.predictions import PREDICTION

# No version, path or time: a generated file depends on its sources alone.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}

# Silent where the course is installed. A magic would do the same, but not when the cell is read as Python. The course
# is installed without what its wheel asks for: a JupyterLab, and a newer IPython than the kernel that is running.
INSTALL = """\
# On Colab, Kaggle or Binder this installs the course; where it is installed, it does nothing.
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("qkv") is None:
    pip = [sys.executable, "-m", "pip", "install", "-q"]
    # without versions: what is here already, torch above all, stays as it is
    needs = "babel click cloudpickle cycler Jinja2 MarkupSafe matplotlib numpy PyYAML safetensors torch tqdm"
    subprocess.run([*pip, *needs.split()], check=True)
    subprocess.run([*pip, "--no-deps", "qkv-course"], check=True)
    importlib.invalidate_caches()"""


def student_edition(course: Course, chapter: Chapter, parts: list[Part]) -> nbformat.NotebookNode:
    """Stubs where exercises are, the student's own parts where earlier chapters built them, room for predictions, and
    no outputs."""
    return _edition(course, chapter, parts, solved=False)


def solved_edition(course: Course, chapter: Chapter, parts: list[Part]) -> nbformat.NotebookNode:
    """The reference's code where exercises are; not run yet."""
    return _edition(course, chapter, parts, solved=True)


def _edition(course: Course, chapter: Chapter, parts: list[Part], solved: bool) -> nbformat.NotebookNode:
    plain = plain_markdown(course, chapter, parts)
    built = {} if solved else built_before(course, chapter)
    ids = Ids()
    cells = []
    met_exercise = False
    if solved:
        note = (
            f"> **Solved edition.** Every exercise is filled in and every cell has been run. "
            f"To build it yourself, open [the student edition](../notebooks/{chapter.name}.ipynb)."
        )
        cells.append(new_markdown_cell(note, id=ids.named("edition")))
    for part in parts:
        if isinstance(part, Prose):
            text = plain.lower(part.text, part.line)
            cells.append(new_markdown_cell(text, id=ids.of(part.text)))
            if not solved and part.predictions:
                cells.append(new_raw_cell(PREDICTION, id=ids.of("\n".join(part.predictions))))
        elif isinstance(part, Code):
            if not solved and "setup" in part.tags:
                cells.append(new_code_cell(INSTALL, id=ids.named("install"), metadata=_metadata(("hide-input",))))
            metadata = _metadata(part.tags)
            if solved and (asserts := {claim.id: list(claim.asserted) for claim in part.claims if claim.asserted}):
                metadata["asserts"] = asserts  # for nbval, on whatever machine it runs
            if not solved and met_exercise:
                # a Run All goes on behind a cell that waits for an exercise: JupyterLab and nbclient know this tag
                metadata.setdefault("tags", []).append("raises-exception")
            code = with_own_parts(part.source, built)
            cells.append(new_code_cell(code, id=ids.of(part.source), metadata=metadata))
        else:
            met_exercise = True
            name = part.name
            code = part.definition.solved if solved else part.definition.stub
            cells.append(new_markdown_cell(_card(part), id=ids.named(f"exercise-{name}")))
            weights = bool(part.facts.hand_in)
            kind = "hand-in" if weights else "exercise"
            cells.append(new_code_cell(code, id=ids.named(name), metadata=_metadata((kind,))))
            # the card of weights shows what a training came to, which another machine rounds otherwise
            tags = ("check", *(["nbval-ignore-output"] if weights else []))
            cells.append(new_code_cell(part.check, id=ids.named(f"check-{name}"), metadata=_metadata(tags)))
    made: nbformat.NotebookNode = new_notebook(cells=cells, metadata=METADATA)
    return made


def plain_markdown(course: Course, chapter: Chapter, parts: list[Part]) -> Plain:
    """A lowering for this chapter that knows everybody's headings and equations, and what can be cited."""
    texts = {other: other.source.read_text(encoding="utf-8") for other in course.chapters()}
    headings = {other.name: anchors(text) for other, text in texts.items()}
    equations: dict[str, str] = {}
    for other, text in texts.items():
        Plain(other, equations=equations).number_equations(text)
    equations = {label: n for label, n in equations.items() if not n.startswith(f"{chapter.number}.")}
    plain = Plain(chapter, headings, equations, citations(course.root))
    for part in parts:
        if isinstance(part, Prose):
            plain.number_equations(part.text)
    return plain


def _card(task: Task) -> str:
    stuck = f'Stuck? `hint("{task.name}")` gives a nudge'
    if task.facts.hand_in:
        how = (
            f"Run the cell, which writes the weights of your model into a file, then run `{task.check}`. "
            f"It runs none of your code: the weights are measured. {stuck}."
        )
    else:
        how = f"Replace `raise NotImplementedError`, run the cell, then run `{task.check}`. "
        how += f'{stuck}, `skip("{task.name}")` goes on with ours.'
    lines = [f"> **Exercise {task.number}: `{task.name}`** ({', '.join(task.terms)})", ">", f"> {how}"]
    if task.forbidden:
        lines[-1] += f" {task.forbidden}"
    return "\n".join(lines)


def _metadata(tags: tuple[str, ...]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"tags": list(tags)} if tags else {}
    if "hide-input" in tags:
        metadata["jupyter"] = {"source_hidden": True}  # JupyterLab folds it as the page does
    return metadata
