"""The first screen: a page of Markdown in `notebooks/` that `qkv start` writes, since it alone knows the addresses."""

from __future__ import annotations

from pathlib import Path

from qkv import course, routes

NAME = "welcome.md"

TEXT = """\
# Welcome

You are going to build the Transformer, from the first dot product to a machine that translates and a small GPT of your
own. Each chapter is a notebook, and its exercises are the parts of the model: you write them, and the rest of the
chapter runs on what you wrote.

**[Begin with chapter {first.number}, {first.title}]({first_notebook})**, or go to any other below.

## How it works

Read, and run one cell after the other with Shift+Enter. Where a box says *Predict*, write what you expect into the
cell below it before you go on. Where a cell says `raise NotImplementedError`, put your code there, run the cell, then
run the `check(…)` below it.

- `check(softmax)` runs your function and ours on the same inputs and compares every number. If something differs it
  says what, and if it is a mistake that others have made before you, it calls it by its name. Nothing is sent anywhere,
  and you can check as often as you like.
- `hint("softmax")` gives a nudge, and a stronger one each time.
- `skip("softmax")` goes on with our version, so that you are never stuck; `reset("softmax")` gives you the stub again.
- `status()` shows what you have built so far, what comes next, and what is due to be written once more.

What you write is in these notebooks and nowhere else: save them as you would any file.

## The book

The same chapters, with all results and with every solution folded away, are [a book in your browser]({book}). An
exercise there has a link to its cell here; the first cell of a notebook, once it has run, has a link to its page there.
[The guide for students]({book}book/guides/students.html) says what a card means, and what to do when something goes
wrong.

## Three ways through

{routes}

## The chapters

| | | minutes |
|--:|:--|--:|
{chapters}
"""


def notebook_link(entry: course.Entry) -> str:
    return f"{entry.number:02}_{entry.stem}.ipynb"


def welcome_text(book: str) -> str:
    """The page, for a book that is served at this address."""
    entries = course.entries()
    rows = [f"| {e.number} | [{e.title}]({notebook_link(e)}) | {e.minutes} |" for e in entries]
    first = entries[0]
    return TEXT.format(
        first=first,
        first_notebook=notebook_link(first),
        book=book,
        routes=routes.as_markdown("", ".ipynb"),
        chapters="\n".join(rows),
    )


def write_welcome(notebooks: Path, book: str) -> None:
    """Put the page where JupyterLab opens it; it is made anew each time, because the address of the book may be."""
    (notebooks / NAME).write_text(welcome_text(book), encoding="utf-8", newline="\n")
