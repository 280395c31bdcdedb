"""Which numbers may stand for which, and that nbval then compares by it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from qkv.authoring.build.measured import Tolerance, comparable, with_stored_numbers

SAME = [
    # stored, shown, tags
    ("3 of 5", "3 of 5", ""),
    ("off by 0.1234", "off by 0.1235", ""),  # one in the last digit: another order of adding up
    ("1.8e+05 steps", "1.9e+05 steps", ""),
    ("right 0.950 ± 0.020", "right 0.909 ± 0.041", ""),
    ("right 0.95 ± 0.02  and 0.1", "right   0.95 ± 0.02 and 0.1", ""),  # columns move with their numbers
    ("right 1.000 ± 0.000", "right 0.998 ± 0.002", "within-0.01"),
    ("loss 200.0", "loss 171.0", "within-15%"),
    ("loss 200.0", "loss 171.0", "within-1 within-15%"),
    ("4 of 5 runs", "2 of 5 runs", "counts-within-2"),
    ("−0.5 and −0.25", "−0.6 and −0.24", ""),
    ("1,048,576 bytes", "1,048,576 bytes", ""),
    ("[0.50, 0.50]", "[0.51, 0.49]", ""),
]
OTHER = [
    ("3 of 5", "2 of 5", ""),
    ("3 of 5", "2 of 5", "within-5 within-90%"),  # a count is no measurement unless that is said
    ("4 of 5 runs", "1 of 5 runs", "counts-within-2"),
    ("off by 0.1234", "off by 0.1236", ""),
    ("right 0.950 ± 0.020", "right 0.889 ± 0.020", ""),
    ("right 0.950 ± 0.020", "right 0.950 ± 0.070", ""),  # a spread that grows hides a failure
    ("right 1.000 ± 0.000", "right 0.930 ± 0.270", "within-0.05"),
    ("right 1.000 ± 0.000", "right 1.000", "within-0.05"),
    ("3e+07", "3e+05", "within-20%"),
    ("0.5 apart", "nan apart", "within-9"),
    ("5.0", "5", "within-9"),
    ("−0.25", "0.25", "within-0.4"),
    ("wrong 0.5", "right 0.5", "within-9"),
    ("0.5 0.5", "0.5", "within-9"),
    ("qkv-live-12345678", "qkv-live-12345679", "counts-within-9"),  # part of a name
    ("d=16", "d=17", ""),
]


@pytest.mark.parametrize(("stored", "shown", "tags"), SAME)
def test_what_may_differ(stored: str, shown: str, tags: str) -> None:
    assert with_stored_numbers(stored, shown, Tolerance.of(tags.split())) == stored


@pytest.mark.parametrize(("stored", "shown", "tags"), OTHER)
def test_what_may_not(stored: str, shown: str, tags: str) -> None:
    assert with_stored_numbers(stored, shown, Tolerance.of(tags.split())) != stored


def test_only_what_disagrees_is_left_to_be_shown() -> None:
    assert with_stored_numbers("a 0.50 b 0.7", "a 0.51 b 0.9", Tolerance()) == "a 0.50 b 0.9"


def test_tags_that_say_something_else_say_nothing_here() -> None:
    assert Tolerance.of(["experiment", "within", "within-", "within-x", "hide-input"]) == Tolerance()


def test_of_a_picture_it_counts_that_it_is_there() -> None:
    live = '<img src="data:image/png;base64,{}"><script>live("a", draw, {});\n}})();</script>'
    stored = [{"data": {"image/png": "abc=", "text/plain": "Figure: a", "text/html": live.format("x+/=", "[0.1]")}}]
    shown = [{"data": {"image/png": "xyz=", "text/plain": "Figure: a", "text/html": live.format("yy", "[0.9]")}}]
    old, new = comparable(stored, shown, [])
    assert old == new
    other = [{"data": {"text/plain": "Figure: a", "text/html": live.format("y", 0).replace('"a"', '"b"')}}]
    old, new = comparable(stored, other, [])
    assert old != new
    assert "image/png" not in new[0]["data"]


# ---- nbval, with the real conftest

CELLS = [
    # stored, tags, asserts, what nbval says
    ("right 0.52\n", (), {}, "PASSED"),
    ("right 0.55\n", (), {}, "Cell outputs differ"),
    ("right 0.55\n", ("within-0.1",), {}, "PASSED"),
    ("left 0.51\n", ("within-0.1",), {}, "Cell outputs differ"),
    ("left 0.51\n", ("nbval-ignore-output",), {}, "PASSED"),
    ("right 0.51\n", (), {"a": ["{right} > 0.4"]}, "PASSED"),
    ("right 0.51\n", (), {"a": ["{right} > 0.6"]}, "claim a: `{right} > 0.6` is not true here, where {right} is 0.51"),
    ("left\n", ("nbval-ignore-output",), {"a": ["{right} > 0.6"]}, "A claim does not come out as the book says"),
]


def test_nbval_compares_by_it(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(root / "solutions" / "conftest.py", tmp_path)
    setup = new_code_cell("import torch; torch.set_num_threads(1)", execution_count=1, metadata={"tags": ["setup"]})
    threads = new_code_cell("print(torch.get_num_threads())", execution_count=2)
    threads.outputs = [new_output("stream", name="stdout", text="3\n")]
    cells = [setup, threads]
    for stored, tags, asserts, _ in CELLS:
        cells.append(new_code_cell('print("right 0.51")', execution_count=3))
        cells[-1].metadata.update(tags=list(tags), asserts=asserts)
        cells[-1].outputs = [new_output("stream", name="stdout", text=stored)]
    nbformat.write(new_notebook(cells=cells), tmp_path / "01_one.ipynb")
    monkeypatch.delenv("QKV_EDITIONS", raising=False)  # `make test` takes turns
    monkeypatch.setenv("QKV_THREADS", "3")  # asked for after the cell of imports, which asks for one
    words = [sys.executable, "-m", "pytest", "-rA", "--nbval", "--nbval-current-env", "--color=no", "."]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "PASSED 01_one.ipynb::Cell 1\n" in said, "two threads"
    for n, (*_, says) in enumerate(CELLS, start=2):
        if says == "PASSED":
            assert f"PASSED 01_one.ipynb::Cell {n}\n" in said
        else:
            assert f"FAILED 01_one.ipynb::Cell {n} " in said
            assert re.search(rf"Cell {n}: {says}|{re.escape(says)}", said)
