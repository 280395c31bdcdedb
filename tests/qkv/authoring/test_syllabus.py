"""A course in weeks: what chapters ask of a student, added up."""

from __future__ import annotations

from pathlib import Path

import pytest

from qkv.authoring.syllabus import Load, load, table
from qkv.course import AuthoringError, Chapter, Course


def test_what_a_chapter_asks(root: Path) -> None:
    assert load(Chapter(root, "01_lookup")) == Load("Queries, keys, values", exercises=4, minutes=90)
    assert load(Chapter(root, "04_positions")).minutes == 150


def test_a_table_of_weeks(root: Path) -> None:
    assert list(table(Course(root), ["1: 1, 2", "2: Rest", "3: 99"], "../chapters/"))[2:] == [
        "| 1 | [01 Queries, keys, values](../chapters/01_lookup.md), "
        "[02 Why divide by the square root of d](../chapters/02_scaling.md) | 8 | 180 |",
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
