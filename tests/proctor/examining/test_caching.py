"""A verdict is found once for all answers of which the very same was seen, and only for those."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from proctor.examining import caching, diagnose
from proctor.examining.caching import CachingExaminer
from proctor.inside.harness import pack
from proctor.inside.observe import Observation
from proctor.sandbox import run

spec = importlib.util.spec_from_file_location("one_exercise", Path(__file__).parents[1] / "one_exercise.py")
assert spec is not None
assert spec.loader is not None
one_exercise: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(one_exercise)


@pytest.fixture
def examiner() -> CachingExaminer:
    return CachingExaminer(one_exercise.exercise, "salt")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many probes each verdict that was found, and not remembered, rests on."""
    calls: list[int] = []
    plain = diagnose.Examiner.verdict

    def counted(self: Any, seen: Any, *args: Any, **options: Any) -> Any:
        calls.append(len(seen))
        return plain(self, seen, *args, **options)

    monkeypatch.setattr(diagnose.Examiner, "verdict", counted)
    return calls


def as_it_comes(examiner: CachingExaminer, implementation: Any) -> dict[str, Observation]:
    """What the probes see of an implementation, as it comes out of a sandbox."""
    taken = run.Run()
    for probe, observation in examiner.observations(implementation).items():
        run.store_observation(pack(observation, 1 << 20), ("affine", probe), taken)
    return taken.outcomes["affine"]


def test_the_same_bytes_give_one_object_and_one_verdict(examiner, found):
    first, second = (as_it_comes(examiner, one_exercise.affine) for _ in range(2))
    assert all(first[probe] is second[probe] for probe in first)
    assert examiner.verdict(first, 1.0).seconds == 1.0
    assert examiner.verdict(second, 2.0).seconds == 2.0
    assert examiner.verdict(second).state == "passed"
    assert len(found) == 1


def test_another_answer_has_a_verdict_of_its_own(examiner, found):
    wrong = one_exercise.exercise.misconceptions["slope_divides"].implementation
    seen = [as_it_comes(examiner, answer) for answer in (one_exercise.affine, wrong, one_exercise.affine, wrong)]
    assert [examiner.verdict(one).state for one in seen] == ["passed", "not_yet", "passed", "not_yet"]
    assert len(found) == 2


def test_what_was_seen_on_other_inputs_and_whether_it_was_begun_count_too(examiner, found):
    wrong = one_exercise.exercise.misconceptions["slope_divides"].implementation
    seen = as_it_comes(examiner, wrong)
    again = examiner.other_inputs.observations(wrong)
    assert examiner.verdict(seen, again=again).misconceptions == ("slope_divides",)
    assert examiner.verdict(seen, again={}).misconceptions == ()
    examiner.verdict(seen, begun=True)
    assert len(found) == 3


def test_it_forgets_what_was_long_ago(examiner, found, monkeypatch):
    monkeypatch.setattr(caching, "MOST", 2)
    kept = [as_it_comes(examiner, lambda x, slope, offset, n=n: x + n) for n in range(3)]
    for seen in (*kept, kept[0], kept[2]):
        examiner.verdict(seen)
    assert len(found) == 4, "the first was forgotten, the last was not"
    assert len(examiner._verdicts) == 2


def test_what_is_large_is_not_remembered(monkeypatch):
    monkeypatch.setattr(run, "SMALL", 10)
    examiner = CachingExaminer(one_exercise.exercise, "another salt")
    first, second = (as_it_comes(examiner, one_exercise.affine) for _ in range(2))
    assert not any(first[probe] is second[probe] for probe in first)
    assert examiner.verdict(first) == examiner.verdict(second)
