"""What a page folds away: long experiments, and the answer to a question that the reader should think about first."""

from __future__ import annotations

import pytest

from qkv.authoring.build.chapter import Code
from qkv.authoring.publish.page import LONG, PREDICT, folding

QUESTION = "```{admonition} Predict\n:class: predict\n\nHow many?\n```\n"


def cell(lines: int, *tags: str) -> Code:
    text = "\n".join(["x = 1"] * lines)
    return Code(text, 1, tags, (), text)


@pytest.mark.parametrize(
    ("part", "answers", "tags", "words"),
    [
        (cell(LONG, "experiment"), False, ["experiment"], None),
        (cell(LONG + 1, "experiment"), False, ["experiment", "hide-input"], "Show the experiment"),
        (cell(LONG + 1), False, [], None),  # code that the text explains stays open
        (cell(3), True, ["hide-output"], "Show what comes out"),
        (cell(LONG + 1, "experiment"), True, ["experiment", "hide-input", "hide-output"], "Show the {type}"),
        (cell(3, "hide-input"), True, ["hide-input", "hide-output"], "Show the {type}"),
    ],
)
def test_long_experiments_and_answers_are_folded(part: Code, answers: bool, tags: list[str], words: str | None) -> None:
    found = folding(part, answers)
    assert found["tags"] == tags
    assert found.get("mystnb", {}).get("code_prompt_show") == words


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (f"Some words.\n\n{QUESTION}", True),
        (f"{QUESTION}\nAnd more words.", False),
        ("```{admonition} Note\n\nHow many?\n```\n", False),
    ],
)
def test_a_question_is_one_that_the_next_cell_answers(text: str, asks: bool) -> None:
    assert bool(PREDICT.search(text)) is asks
