"""A course in weeks: what chapters ask of a student, added up."""

from __future__ import annotations

from pathlib import Path

import pytest

from qkv.authoring.publish.syllabus import Load, chapter_load, table
from qkv.course import AuthoringError, Chapter, Course


def test_what_a_chapter_asks(built_once: Course) -> None:
    assert chapter_load(built_once.chapters(["tiny"])[0]) == Load("A tiny chapter", exercises=2, minutes=20)


def test_a_table_of_weeks(built_once: Course) -> None:
    assert list(table(built_once, ["1: 1, 2", "2: Rest", "3: 99"], "../chapters/"))[2:] == [
        "| 1 | [01 A tiny chapter](../chapters/01_tiny.md), [02 A second chapter](../chapters/02_second.md) | 2 | 40 |",
        "| 2 | Rest | | |",
        "| 3 | chapter 99, which is being written |  |  |",
    ]


def test_a_chapter_has_to_say_how_long_it_takes(tmp_path: Path) -> None:
    source = tmp_path / "book" / "chapters" / "01_tiny.md"
    source.parent.mkdir(parents=True)
    source.write_text("# Tiny: a chapter\n", "utf-8")
    with pytest.raises(AuthoringError, match=r"01_tiny.md: its front matter should say how long it takes: minutes: 90"):
        _ = Chapter(tmp_path, "01_tiny").minutes
    source.write_text("---\nminutes: 30\n---\n# Tiny: a chapter\n", "utf-8")
    chapter = Chapter(tmp_path, "01_tiny")
    assert (chapter.title, chapter.minutes) == ("Tiny", 30)
