"""`qkv new chapter`: write the pieces of a chapter, each in its place, for an author to fill in.

The new chapter is the last one. It has the opening, the setup cell and the closing that all chapters have, builds as it
is, and stands wherever chapters are listed. `qkv new exercise` then puts exercises into it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from qkv.authoring.publish.covers import cover
from qkv.authoring.write.new import MARK, read_chapter_file, write_pieces
from qkv.course import FOLDER, AuthoringError, Chapter, Course

SOURCE = """---
jupytext:
  text_representation: {{extension: .md, format_name: myst}}
kernelspec: {{name: python3, display_name: Python 3, language: python}}
minutes: 60
---

# {title}

```{{admonition}} You will build
:class: opening

**The question.** TODO: what fails, and why anybody should care.

**You build** TODO: the functions of the exercises, and what each is good for.

**You need** TODO: earlier chapters. **Time:** about 60 minutes with the exercises.
```

```{{code-cell}} ipython3
:tags: [setup]
import torch
from torch import Tensor

from qkv import check, figures, hint, status

figures.use()
torch.set_num_threads(1)
_ = torch.manual_seed(0)
```

## TODO: the failure, in a few words

TODO: what the next cell does, and what the reader should predict.

```{{code-cell}} ipython3
print("TODO: two lines that show the failure")
```

## TODO: the idea that mends it

TODO: intuition, equation, a tiny example by hand. The exercise follows.

## What to take away

- TODO: what the reader should still know in a year.

## Break it

TODO: one thing to change, and what to predict before running it.

## Further reading

- TODO: a paper of `book/references.bib`, and what to read in it.
"""

MODEL = '''"""{title}. Shapes: see model/__init__.py."""

from __future__ import annotations
'''

EXERCISES = '''"""Exercises of the chapter `{stem}`, in the order in which a student meets them."""

EXERCISES: tuple[str, ...] = ()
'''

COVER = """<svg class="chapter" viewBox="0 0 240 96" aria-hidden="true">
<!-- TODO: draw the idea; src/qkv/authoring/publish/covers.py says with what -->
<rect class="quiet" x="60" y="36" width="120" height="24" rx="4"/>
</svg>
"""

IN_CONTENTS = re.compile(rf"^( *- file: ){FOLDER}\d\d_\w+\n", re.MULTILINE)
ON_FIRST_PAGE = re.compile(r"^\d+\. \[.+\]\(chapters/\d\d_\w+\.md\).*\n", re.MULTILINE)
PLAN = re.compile(r"(?<=^```\{syllabus\}\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
WEEK = re.compile(r"^\d+: [\d, ]+$", re.MULTILINE)


def new_chapter(stem: str, title: str, course: Course | None = None, say: Callable[[str], None] = print) -> int:
    """Write the pieces of a chapter after the last one.

    Args:
        stem: what its files are called, everywhere.
        title: its heading, and its line on the first page.

    Returns:
        0, or 1 when it cannot be written; then nothing is.
    """
    try:
        course = course or Course.here()
        written = chapter_pieces(stem, title, course)
    except AuthoringError as error:
        say(str(error))
        return 1
    write_pieces(written, course, say)
    say(f"Next: qkv new exercise NAME --chapter {stem}. Then replace what says {MARK}, and: qkv build {stem}")
    return 0


def chapter_pieces(stem: str, title: str, course: Course) -> dict[Path, str]:
    """File -> its text with the new chapter in it. A model, exercises or a drawing that are there already stay."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
        raise AuthoringError(f"{stem!r} cannot be the name of files. For example: qkv new chapter sampling")
    for chapter in course.on_disk():
        if chapter.stem == stem:
            raise AuthoringError(f"{chapter.where()} exists already: take another stem.")
    chapter = Chapter(course.root, f"{len(course.chapters()) + 1:02}_{stem}")
    about = {"title": title, "stem": stem}
    contents, first_page = course.root / "_toc.yml", course.root / "book" / "index.md"
    line = f"{chapter.number}. [{title}](chapters/{chapter.name}.md): TODO: what it is about, in one line.\n"
    found = {
        chapter.source: SOURCE.format(**about),
        contents: after_the_last(IN_CONTENTS, contents, rf"\g<1>{FOLDER}{chapter.name}\n"),
        first_page: after_the_last(ON_FIRST_PAGE, first_page, line.replace("\\", r"\\")),
    }
    plans = course.root / "book" / "guides" / "instructors.md"
    if plans.is_file():
        found[plans] = PLAN.sub(lambda plan: with_planned_chapter(plan[0], chapter.number), read_chapter_file(plans))
    for path, text in (
        (chapter.model, MODEL.format(**about)),
        (course.root / "src" / "qkv" / "exercises" / stem / "__init__.py", EXERCISES.format(**about)),
        (cover(course.root, stem), COVER),
    ):
        if not path.is_file():
            found[path] = text
    return found


def after_the_last(pattern: re.Pattern[str], path: Path, line: str) -> str:
    """The text of a file with one more line, after the last that matches. The line may use the match's groups."""
    text = read_chapter_file(path)
    matches = list(pattern.finditer(text))
    if not matches:
        raise AuthoringError(f"{path.name} lists no chapter after which the new one could stand.")
    end = matches[-1].end()
    return text[:end] + matches[-1].expand(line) + text[end:]


def with_planned_chapter(plan: str, number: int) -> str:
    """A course in weeks whose last week with chapters has one more."""
    weeks = list(WEEK.finditer(plan))
    end = weeks[-1].end() if weeks else 0
    return f"{plan[:end]}, {number}{plan[end:]}" if weeks else plan
