"""A quoted line is cut beside its point, not at it."""

import pytest

from proctor.inside.observe import describe_exception
from proctor.inside.quote import short

LONG = "result = " + " + ".join(f"part_{i}" for i in range(40))


@pytest.mark.parametrize("most", [20, 40, 80])
@pytest.mark.parametrize("i", range(40))
def test_the_point_is_shown(i, most):
    found = short(LONG, most, f"part_{i}")
    assert len(found) <= most
    assert f"part_{i}" in found
    assert found.strip("…") in LONG


def test_without_a_point_the_beginning_is_shown():
    assert short(LONG, 20) == "result = part_0 + p…"
    assert short(LONG, 20, "not there") == short(LONG, 20)
    assert short("a  =\n 1") == "a = 1"
    assert short("x" * 80) == "x" * 80


def test_a_point_that_is_too_long_is_shown_as_far_as_there_is_room():
    assert short(LONG, 40, LONG[9:]).startswith("…part_0 + part_1 + ")


def test_a_line_that_raised_is_quoted_around_what_raised():
    namespace = {}
    line = "def f(x): return [" + ", ".join(f"x + {i}" for i in range(60)) + ", x + None, x]"
    import linecache

    linecache.cache["<cell 3>"] = (len(line), None, [line], "<cell 3>")
    exec(compile(line, "<cell 3>", "exec"), namespace)
    try:
        namespace["f"](1)
    except TypeError as error:
        raised = describe_exception(error)
    assert raised.where.startswith("cell 3, line 1: `…")
    assert "x + None" in raised.where
    assert raised.line == 1
