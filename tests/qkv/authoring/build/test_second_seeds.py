"""A claim has a second verdict, of the same code and the same as the first, or `qkv build --check` says so."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from qkv.authoring.build.building import build_editions
from qkv.authoring.build.second_seeds import contradictions, run_again, stored_in
from qkv.course import Course

RUN = "Run: qkv build --second-seeds tiny"


def claiming(course: Course, *assertions: str, measures: str = "a", printed: str = "right: 0.9\n") -> None:
    """Give the tiny chapter a claim."""
    cell = new_code_cell("1", outputs=[new_output("stream", name="stdout", text=printed)])
    cell.metadata["asserts"] = {"heads-help": list(assertions)}
    notebook = new_notebook(cells=[cell], metadata={"qkv": {"measures": measures}})
    path = course.chapters(["tiny"])[0].solved
    path.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, path)


@pytest.fixture
def under_second_seeds(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Instead of a kernel: with other seeds the cell prints another number."""
    ran: list[dict[str, str]] = []

    def execute(notebook: Any, chapter: Any, **settings: str) -> None:
        notebook.cells[0].outputs[0].text = "right: 0.7\n"
        ran.append(settings)

    monkeypatch.setattr("qkv.authoring.build.second_seeds.execute", execute)
    return ran


def test_a_claim_without_a_second_verdict_is_told(tiny: Course) -> None:
    claiming(tiny, "{right:} > 0.5")
    (chapter,) = tiny.chapters(["tiny"])
    assert contradictions(tiny, chapter) == [f"claim heads-help has no verdict under the second seeds. {RUN}"]


def test_the_second_verdict_is_compared_and_a_new_margin_needs_no_new_run(
    tiny: Course, under_second_seeds: list[dict[str, str]]
) -> None:
    (chapter,) = tiny.chapters(["tiny"])
    claiming(tiny, "{right:} > 0.5")
    for _ in range(2):
        run_again(tiny, chapter, force=False, say=lambda line: None)
    assert under_second_seeds == [{"QKV_SEEDS": "1"}]
    assert json.loads(stored_in(tiny).read_text("utf-8")) == {
        "tiny": {"measures": "a", "printed": {"heads-help": ["right: 0.7"]}}
    }
    assert contradictions(tiny, chapter) == []
    claiming(tiny, "{right:} > 0.8")
    assert contradictions(tiny, chapter) == [
        "under the second seeds, claim heads-help: `{right:} > 0.8` is not true here, where {right:} is 0.7"
    ]


def test_a_second_verdict_of_other_code_is_stale(tiny: Course, under_second_seeds: list[dict[str, str]]) -> None:
    (chapter,) = tiny.chapters(["tiny"])
    claiming(tiny, "{right:} > 0.5")
    run_again(tiny, chapter, force=False, say=lambda line: None)
    claiming(tiny, "{right:} > 0.5", measures="b")
    assert contradictions(tiny, chapter) == [
        f"claim heads-help had its second verdict with other code than today's. {RUN}"
    ]


def test_check_tells_it(tiny: Course) -> None:
    claiming(tiny, "{right:} > 0.5")
    said: list[str] = []
    assert build_editions(["tiny"], check=True, course=tiny, say=said.append) == 1
    assert any("has no verdict under the second seeds" in line for line in said)
