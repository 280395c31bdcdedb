"""What makes grading fast changes no verdict: with every trick off, a class gets the same results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from proctor.examining.result import Result
from proctor.grading.worker import Plan, close_sandbox, prepared, sandbox_of
from proctor.inside import warmup
from proctor.marking.mark import mark_submission
from proctor.marking.submissions import File


def results(plan: Plan, sample: Any) -> list[Result]:
    """Of a class of three: all right; an early mistake; a crash, a forbidden call and an answer that is not begun."""
    wrong = {"double": "def double(x):\n    return 3 * x"}
    odd = {
        "double": "def double(x):\n    raise NotImplementedError",
        "share": "def share(x):\n    return x.flatten().softmax(0).reshape(x.shape)",
        "square": "def square(x):\n    return x @ None",
    }
    texts = [sample.code(), sample.code(**wrong), sample.code(**odd)]
    prepared.cache_clear()
    try:
        marked = [mark_submission(*prepared(plan), sandbox_of(plan), [File("work.py", t.encode())])[0] for t in texts]
    finally:
        close_sandbox()
        prepared.cache_clear()
    return [replace(result, seconds=0.0) for student in marked for result in student]


def test_without_any_trick_the_results_are_the_same(plan: Plan, sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(warmup.VARIABLE, "all")
    fast = results(plan, sample)
    monkeypatch.setenv(warmup.VARIABLE, "none")
    assert results(plan, sample) == fast
    assert {result.state for result in fast} == {"passed", "not_yet", "not_started", "stopped"}


def test_what_the_variable_says() -> None:
    assert warmup.chosen("all") == warmup.chosen("") == frozenset(warmup.TRICKS)
    assert warmup.chosen("none") == frozenset()
    assert warmup.chosen("-freeze, -kept") == frozenset(warmup.TRICKS) - {"freeze", "kept"}
    for text in ("freeze", "-no_such_trick", "all,-freeze"):
        with pytest.raises(ValueError, match=f"PROCTOR_WARM is all, none, or a list .* not '{text}'"):
            warmup.chosen(text)
