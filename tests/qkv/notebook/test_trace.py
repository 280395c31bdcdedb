"""What the trace says of our solution, that it has a value nowhere, is said of all its values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor import Examiner, Result
from proctor.locate import trace
from proctor.locate.trace import KnownValues, array_of, known_values
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.line_search import LineSearch
from proctor.marking.submissions import read_submitted_file
from qkv import exercises
from qkv.notebook.checking import judged_in_process

ANSWERS = Path(__file__).parents[3] / "answers"
PROBE = "machines_of_size_one"  # five machines, one after the other


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(exercises.get_code("Transformer"), "trace")


def test_the_last_of_many_results_is_known(examiner: Examiner) -> None:
    right = known_values(examiner, PROBE)
    assert right is not None
    results = examiner.expected[PROBE].observation.values
    assert results
    assert [name for name, value in results.items() if not right.has(array_of(value))] == []


def test_nothing_is_said_where_values_were_left_out(examiner: Examiner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST_OF_OURS", 600)
    assert known_values(examiner, PROBE) is None


def test_values_are_told_apart_beyond_their_first_entries() -> None:
    right = KnownValues()
    a = np.arange(24.0).reshape(4, 6)
    for value in (a, a * 2, np.full((4, 6), np.inf)):
        right.add(value)
    off = a.copy()
    off[3, 5] += 0.01
    assert right.has(a)
    assert right.has(a[None])  # sizes of 1 do not count
    assert right.has(np.full((4, 6), np.inf))
    assert not right.has(off)
    assert not right.has(a * 3)
    assert right.has_slice(a[2])
    assert right.has_slice(a[:, 2] * 2)
    assert not right.has_slice(off[3])


def traced(file: str, name: str) -> tuple[Result, str]:
    """What is said of a wrong answer that we keep, if no edit is tried, and the line that it is said of."""
    path = ANSWERS / file
    examiners = {name: Examiner(exercises.get_code(name), "trace")}
    (result,) = judged_in_process(
        Answers([extract(read_submitted_file(path.name, path))]), [name], examiners, LineSearch(candidates=0)
    )
    assert result.line is not None
    return result, path.read_text("utf-8").split("\n")[result.line - 1]


def test_another_probe_is_traced_where_the_first_shows_nothing() -> None:
    """Of the probe's five machines the first three, which are noted, have one layer each: there it is right."""
    result, line = traced("transformer/wrong/memory_grows_old.py", "Transformer")
    assert result.probe == PROBE
    assert "says(y, self.encoder_norm(x)" in line  # where the memory is made anew for each layer
    assert "with the right value in place of `self.encoder_norm(x)`" in result.message
    assert "your answer passes all 4 checks of values that it fails now" in result.message


def test_a_factor_that_stands_elsewhere_is_looked_past() -> None:
    """`0.5 * x` is in no line of ours, but what is wrong is the series in the line before."""
    _, line = traced("blocks/wrong/a_short_series.py", "gelu")
    assert "t**3" in line


def test_what_is_made_to_begin_with_is_looked_past() -> None:
    result, line = traced("training/wrong/half_scaled.py", "label_smoothing_loss")
    assert "= 1 - epsilon" in line
    assert "`torch.arange" not in result.message
