"""The place of an exercise: its number, its cell in JupyterLab, its page in the book."""

from __future__ import annotations

import os
from pathlib import Path

from qkv import course, exercises

BOOK = "QKV_BOOK"  # the address at which `qkv start` serves the book


def exercise_number(name: str) -> str:
    """`1.2` for the second exercise of chapter 1."""
    stem = exercises.chapter_of(name)
    return f"{chapter_number(stem)}.{exercises.names_of(stem).index(name) + 1}"


def chapter_number(stem: str) -> int:
    return exercises.CHAPTERS.index(stem) + 1


def chapter_title(stem: str) -> str:
    """`Queries, keys, values`: what the book calls the chapter."""
    return next(entry.title for entry in course.entries() if entry.stem == stem)


def notebook_name(stem: str) -> str:
    return f"{chapter_number(stem):02}_{stem}.ipynb"


def cell_link(name: str) -> str:
    """A link that JupyterLab follows to the exercise's cell, from any notebook of the course."""
    return f"{notebook_name(exercises.chapter_of(name))}#cell-id={name.replace('_', '-')}"


def page_link(name: str) -> str:
    """The exercise on the book's page, where its solution is folded; empty if the book is not being served."""
    chapter = page_of_notebook(notebook_name(exercises.chapter_of(name)))
    return f"{chapter}#exercise-{name.replace('_', '-').lower()}" if chapter else ""


def page_of_notebook(path: str) -> str:
    """A notebook's page in the book; empty for other notebooks, or if the book is not being served."""
    served, name = os.environ.get(BOOK, ""), Path(path).name
    known = name in map(notebook_name, exercises.CHAPTERS)
    return f"{served}book/chapters/{Path(name).with_suffix('.html')}" if served and known else ""
