"""A course in weeks, for the instructors' guide. Exercises and minutes come from the chapters.

    ```{syllabus}
    1: 1, 2
    2: Rest
    ```

A line is a week: the numbers of its chapters, or words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from qkv.course import AuthoringError, Chapter, Course


@dataclass(frozen=True)
class Load:
    """The load of a chapter: title, exercises, minutes."""

    title: str
    exercises: int
    minutes: int


def chapter_load(chapter: Chapter) -> Load:
    """Read it from the chapter's source and its solved edition."""
    stored = nbformat.read(chapter.solved, as_version=4).metadata["qkv"]["exercises"]
    return Load(chapter.title, len(stored), chapter.minutes)


def table(course: Course, weeks: list[str], up: str) -> Iterator[str]:
    """The lines of a Markdown table. `up` leads from its page to the folder of chapters."""
    chapters = {chapter.number: chapter for chapter in course.chapters()}
    yield "| week | chapters | exercises | minutes |"
    yield "|---|---|---|---|"
    for line in weeks:
        week, _, plan = (part.strip() for part in line.partition(":"))
        if not re.fullmatch(r"[\d, ]+", plan):
            yield f"| {week} | {plan} | | |"
            continue
        names, exercises, minutes = [], 0, 0
        for number in map(int, plan.split(",")):
            if number not in chapters:
                names.append(f"chapter {number:02}, which is being written")
                continue
            chapter = chapters[number]
            asked = chapter_load(chapter)
            names.append(f"[{number:02} {asked.title}]({up}{chapter.name}.md)")
            exercises, minutes = exercises + asked.exercises, minutes + asked.minutes
        counts = f"{exercises} | {minutes}" if exercises else " | "
        yield f"| {week} | {', '.join(names)} | {counts} |"


class Syllabus(SphinxDirective):
    """Shows the table."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        course = Course(Path(self.env.srcdir))
        for chapter in course.chapters():
            self.env.note_dependency(str(chapter.source))
            self.env.note_dependency(str(chapter.solved))
        up = "../" * (self.env.docname.count("/") - 1) + "chapters/"
        try:
            lines = list(table(course, [line for line in self.content if line.strip()], up))
        except AuthoringError as error:
            raise self.error(str(error)) from None
        place = nodes.Element()
        self.state.nested_parse(StringList(lines, self.get_source_info()[0]), self.content_offset, place)
        return list(place.children)
