"""Routes: what they name exists, in order, and pages show what is computed here."""

from __future__ import annotations

from pathlib import Path

import pytest

from qkv import course, exercises, routes
from qkv.authoring.publish.sphinx import ROUTES
from qkv.commands.welcome import welcome_text
from qkv.notebook.status import Status


@pytest.mark.parametrize("route", routes.routes(), ids=lambda route: route.name)
def test_a_route_names_what_there_is_in_the_course_s_order(route: routes.Route) -> None:
    assert len(route.stops()) == len(route.parts)
    numbers = [stop.entry.number for stop in route.stops()]
    assert numbers == sorted(set(numbers))
    for stop in route.stops():
        there = exercises.names_of(stop.entry.stem)
        assert [name for name in there if name in stop.exercises] == stop.exercises


def test_the_whole_takes_what_the_chapters_say() -> None:
    assert routes.whole().minutes == sum(entry.minutes for entry in course.entries())
    assert routes.whole().exercises == exercises.names()


def test_ten_hours_to_a_gpt_are_about_ten_hours() -> None:
    assert 8 < routes.GPT.minutes / 60 < 12
    assert routes.GPT.exercises[-1] == exercises.names_of("capstone")[-1]


def test_the_first_page_and_the_welcome_show_them(root: Path) -> None:
    assert ROUTES in (root / "book" / "index.md").read_text("utf-8")  # where the book puts them
    assert routes.as_markdown("", ".ipynb") in welcome_text("http://127.0.0.1:8100/")


def test_status_says_how_far_it_is_to_a_gpt() -> None:
    states = tuple((stem, tuple((n, "not_started") for n in exercises.names_of(stem))) for stem in exercises.CHAPTERS)
    begun = f"{routes.GPT.name}: 0 of {len(routes.GPT.exercises)} exercises; next on this route: 1.1 softmax."
    assert begun in str(Status(states))
    whole_chapter = tuple((stem, tuple((n, "passed" if stem == "lookup" else s) for n, s in f)) for stem, f in states)
    left_out = exercises.names_of("scaling")[0]  # comes next in the course, but not on this route
    assert left_out not in routes.GPT.exercises
    said = str(Status(whole_chapter))
    assert f"Next: 2.1 {left_out}" in said
    assert "next on this route: 2.4 scaled_dot_product_attention." in said
    done = tuple((stem, tuple((name, "passed") for name, _ in found)) for stem, found in states)
    assert routes.GPT.name not in str(Status(done))
