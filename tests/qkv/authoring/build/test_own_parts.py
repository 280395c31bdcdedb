"""Imports of what the student has built, in a cell that is otherwise left alone."""

from __future__ import annotations

from qkv.authoring.build.own_parts import COMMENT, built_before, with_own_parts
from qkv.course import Course

BUILT = {"qkv.model.lookup": {"softmax", "similarity_scores"}, "qkv.model.heads": {"MultiHeadAttention"}}


def test_what_was_built_before_comes_from_the_student() -> None:
    cell = """import math
from qkv.model.lookup import (
    softmax,
    similarity_scores,
)
from qkv.model.fused import fuse
from qkv.model.heads import MultiHeadAttention, spectrum
x = 1  # a comment"""
    assert (
        with_own_parts(cell, BUILT)
        == f"""import math
{COMMENT}
from qkv.mine import softmax, similarity_scores, MultiHeadAttention
from qkv.model.fused import fuse
from qkv.model.heads import spectrum
x = 1  # a comment"""
    )


def test_many_names_are_wrapped() -> None:
    many = {f"part_number_{n}" for n in range(9)}
    cell = f"from qkv.model.lookup import {', '.join(sorted(many))}"
    made = with_own_parts(cell, {"qkv.model.lookup": many})
    assert max(map(len, made.splitlines()[1:])) < 88
    names: dict[str, list[str]] = {}
    exec(made.replace("from qkv.mine import", "found ="), dict.fromkeys(many, ""), names)
    assert len(names["found"]) == 9


def test_all_other_cells_stay_as_they_are() -> None:
    for cell in ("%%time\nx = 1", "from qkv.model.lookup import softmax as ours", "from qkv.model.lookup import other"):
        assert with_own_parts(cell, BUILT) == cell


def test_what_a_chapter_builds_itself_is_not_imported(tiny: Course) -> None:
    first, second = tiny.chapters()
    assert built_before(tiny, first) == {}
    assert built_before(tiny, second) == {"qkv.model.tiny": {"mean", "Counter"}}
