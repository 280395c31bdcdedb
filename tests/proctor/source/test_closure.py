"""Names with all that they use: enough to run, nothing else, and in proportion to the length of what is read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.marking.answers import MOST_PADDING, Answers
from proctor.marking.extraction import extract
from proctor.marking.submissions import File
from proctor.source.closure import Module, closure
from proctor.source.statements import statements
from proctor.source.text import at_their_lines


def closed(text: str, *names: str) -> list[str]:
    return [statement.text for statement in closure(names, Module(statements(text))).statements]


def test_a_name_comes_with_what_it_uses_and_nothing_else() -> None:
    text = "import math\nimport os\nK = math.pi\ndef f(x): return g(x)\ndef g(x): return K * x\nprint(f(1))\nh = 3"
    assert closed(text, "f") == ["import math", "K = math.pi", "def f(x): return g(x)", "def g(x): return K * x"]
    assert closure(["f"], Module(statements(text))).names == {"f", "g", "K", "math"}


def test_the_first_module_that_binds_a_name_says_what_it_is() -> None:
    first, second = (Module(statements(text)) for text in ("def f(): return g(), h()\ng = 1", "g = 2\nh = 3"))
    found = [statement.text for statement in closure(["f"], first, second).statements]
    assert found == ["h = 3", "def f(): return g(), h()", "g = 1"]


@pytest.mark.parametrize(
    ("text", "name", "kept"),
    [
        ("from a import *\nf = g", "f", 2),
        ("from a import *\nf = len", "f", 1),
        ("from __future__ import annotations\nx = 1\nf = 2", "f", 2),
        ("x = 1\ny = 2\nf = lambda: eval('x')", "f", 3),
        ("class C: ...\nC.f = 1\ndel x\nC()", "C", 2),
    ],
)
def test_what_nobody_can_name(text: str, name: str, kept: int) -> None:
    assert len(closed(text, name)) == kept


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Definitions in which each uses earlier ones at once, or any of them when it is called."""
    lines = []
    count = draw(st.integers(1, 12))
    for number in range(count):
        before = [f"n{i}" for i in range(number)] or ["1"]
        one, other = draw(st.sampled_from(before)), draw(st.sampled_from([f"n{i}" for i in range(count)]))
        lines += draw(
            st.sampled_from(
                [
                    [f"n{number} = [{one}]"],
                    [f"def n{number}(x={one}):", f"    return {other}"],
                    [f"class n{number}:", f"    part = {one}", f"    def f(self): return {other}"],
                    [f"n{number} = [i for i in [{one}]]; print({one})"],
                    ["raise ValueError", "", f"n{number} = lambda: {other}"],
                    ["if True:", f"    n{number} = {one}"],
                ]
            )
        )
    return "\n".join(lines)


@settings(max_examples=200, deadline=None)
@given(modules())
def test_what_is_cut_out_runs_alone_and_defines_its_name(text: str) -> None:
    module = Module(statement for statement in statements(text) if statement.defines)
    for name in list(module.binding):
        found = closure([name], module)
        namespace: dict[str, Any] = {}
        exec(at_their_lines(found.statements), namespace)
        assert name in namespace
        assert found.names - namespace.keys() <= {"i", "x", "print"}


# ---- in proportion to the length


def work(do: Callable[[], object]) -> int:
    """How many functions are called, Python's own among them."""
    count = 0

    def tick(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        do()
    finally:
        sys.setprofile(None)
    return count


LONG = {
    "one name over and over": lambda n: "a=1\n" * n + "def f(): return a",
    "each uses the one before": lambda n: "a0=1\n" + "".join(f"a{i + 1}=a{i}\n" for i in range(n)) + f"f=a{n}",
    "on one line": lambda n: "a=1;" * n + "f=a",
    "a long sum": lambda n: "f = 1" + "+a" * min(n, 2500),
    "functions in functions": lambda n: (
        "def f():\n" + "".join(" " * i + f"def g{i}(): a{i}; b{i}\n" for i in range(1, 90))
    ),
}


@pytest.mark.parametrize("kind", LONG)
def test_the_work_grows_with_the_length_and_not_with_the_square(kind: str) -> None:
    def cut(n: int) -> int:
        text = LONG[kind](n).encode()
        return work(lambda: Answers([extract(File("a.py", text))]).slice(0, ["f"]).cells())

    assert cut(2_400) < 2.5 * cut(1_200)


def test_the_cells_of_an_answer_are_not_the_square_of_its_length() -> None:
    def size(n: int) -> int:
        found = Answers([extract(File("a.py", LONG["one name over and over"](n).encode()))]).slice(0, ["f"])
        return sum(len(cell.source) for cell in found.cells())

    assert size(20_000) < 2 * MOST_PADDING  # a cell for each would have 200 million


def test_definitions_that_share_a_cell_keep_their_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.marking.answers.MOST_PADDING", 3)
    text = "\n".join(f"a{i} = {i}" for i in range(9)) + "\ndef f():\n    return [a0, a1, a2, a3, a4, a5, a6, 1 / a0]"
    cells = Answers([extract(File("a.py", text.encode()))]).slice(0, ["f"]).cells()
    assert [cell.label for cell in cells] == ["a.py", "a.py (a1)", "a.py (a2)"]
    assert cells[-1].source.split("\n")[2:] == [*text.split("\n")[2:7], "", "", *text.split("\n")[9:], ""]


def test_definitions_of_one_name_on_one_line_all_run() -> None:
    cells = Answers([extract(File("a.py", b"a = [1]; a += [2]; a += [3]; a += [4]; a += [5]"))]).slice(0, ["a"]).cells()
    namespace: dict[str, Any] = {}
    for cell in cells:
        exec(cell.source, namespace)
    assert namespace["a"] == [1, 2, 3, 4, 5]
