"""An exercise of weights in a chapter: a cell that hands them in, the same in both editions, and its check."""

from __future__ import annotations

from pathlib import Path

import pytest

from qkv.authoring.build.building import _facts
from qkv.authoring.build.chapter import Part, Task, read_chapter
from qkv.authoring.build.editions import solved_edition, student_edition
from qkv.authoring.publish import ledger, page
from qkv.course import Chapter, Course, Facts, facts_of_exercise

HAND_IN = "hand_in(model)  # writes mean.safetensors"
FACTS = {"mean": Facts(3.0, hand_in=HAND_IN), "Counter": Facts()}


@pytest.fixture
def course(tiny: Course) -> Course:
    return Course(tiny.root, FACTS.__getitem__)


@pytest.fixture
def chapter(course: Course) -> Chapter:
    return course.chapters(["tiny"])[0]


@pytest.fixture
def parts(course: Course, chapter: Chapter) -> list[Part]:
    return read_chapter(chapter, course)


def test_it_needs_no_reference_and_is_checked_by_name(parts: list[Part]) -> None:
    weights, code = (part for part in parts if isinstance(part, Task))
    assert (weights.definition.stub, weights.definition.solved) == (HAND_IN, HAND_IN)
    assert weights.check == 'check("mean")'
    assert code.check == "check(Counter)"


def test_both_editions_have_the_same_two_cells(course: Course, chapter: Chapter, parts: list[Part]) -> None:
    for edition in (student_edition(course, chapter, parts), solved_edition(course, chapter, parts)):
        cells = {cell.id: cell for cell in edition.cells}
        assert cells["mean"].source == HAND_IN
        assert cells["mean"].metadata["tags"] == ["hand-in"]
        assert cells["check-mean"].source == 'check("mean")'
        assert cells["check-mean"].metadata["tags"] == ["check", "nbval-ignore-output"]
        card = cells["exercise-mean"].source
        assert "Exercise 1.1: `mean`** (3 points)" in card
        assert 'Run the cell, which writes the weights of your model into a file, then run `check("mean")`.' in card
        assert "NotImplementedError" not in card
        assert "skip(" not in card
        assert "Replace `raise NotImplementedError`, run the cell, then run `check(Counter)`." in (
            cells["exercise-Counter"].source
        )


def test_the_page_shows_the_cell_once_and_folds_nothing(chapter: Chapter, parts: list[Part]) -> None:
    task = next(part for part in parts if isinstance(part, Task))
    card = page._card(task, chapter)
    assert 'check it with `check("mean")`' in card
    assert "```python" not in card


def test_what_a_page_needs_is_stored_and_other_exercises_store_what_they_did(parts: list[Part]) -> None:
    stored = _facts(parts)
    assert stored["mean"] == {"points": 3.0, "forbidden": [], "hand_in": HAND_IN}
    assert stored["Counter"] == {"points": 1.0, "forbidden": []}


def test_the_course_says_how_its_weights_are_handed_in() -> None:
    facts = facts_of_exercise("tiny_gpt")
    assert facts.hand_in == "hand_in(model)  # writes tiny_gpt.safetensors"
    assert facts.points == 3.0
    assert facts_of_exercise("softmax").hand_in == ""


def test_the_ledger_reads_a_chapter_that_asks_for_weights() -> None:
    real = Course(Path(__file__).parents[4])
    (capstone,) = real.chapters(["capstone"])
    assert [entry.chapter for entry in ledger._stored(real, capstone)]
