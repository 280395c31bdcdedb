"""Whose turn it is: each day another quarter, and after four days all of it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from qkv.authoring.write import rotation

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def nothing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QKV_ALL", "QKV_DAY", "QKV_EDITIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("today", [0, 3, 20_775])
def test_four_days_take_each_once(today: int, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    for day in range(today, today + 4):
        monkeypatch.setenv("QKV_DAY", str(day))
        taken += rotation.turn(range(105))
    assert sorted(taken) == list(range(105))


def test_everything_is_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < len(rotation.turn(range(105))) < 30
    monkeypatch.setenv("QKV_ALL", "1")
    assert rotation.turn(range(105)) == list(range(105))
    monkeypatch.setenv("QKV_ALL", "0")
    assert not rotation.everything()


def test_four_days_see_every_edition_in_all_modes_and_sixteen_on_every_processor() -> None:
    seen: dict[int, set[str]] = defaultdict(set)
    for day in range(20_775, 20_775 + 16):
        for edition in range(17):
            seen[edition].add(rotation.mode(edition, day))
    processors = set(rotation.PROCESSORS)
    for edition in range(17):
        assert seen[edition] == {"here", "seeds", rotation.STAND_IN, *processors}
    in_four_days = [
        {rotation.mode(edition, day) for day in range(first, first + 4)} for edition in range(17) for first in range(16)
    ]
    assert all({"here", "seeds", rotation.STAND_IN} <= modes and len(modes & processors) == 1 for modes in in_four_days)


def test_an_edition_runs_as_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editions = [tmp_path / name for name in ("01_a.ipynb", "02_b.ipynb")]
    for path in editions:
        path.touch()
    assert [rotation.mode_of(path) for path in editions] == ["here", "here"]
    monkeypatch.setenv("QKV_EDITIONS", "avx2")
    assert rotation.mode_of(editions[0]) == "avx2"
    monkeypatch.setenv("QKV_EDITIONS", "turns")
    monkeypatch.setenv("QKV_DAY", "2")
    assert [rotation.mode_of(path) for path in editions] == [rotation.STAND_IN, "seeds"]
    monkeypatch.setenv("QKV_EDITIONS", "sometimes")
    with pytest.raises(ValueError, match="QKV_EDITIONS=sometimes is no way to run an edition; there are: turns, here"):
        rotation.mode_of(editions[0])


def test_the_plan_says_how_to_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_DAY", "0")
    shown = rotation.plan(["01_a", "02_b", "03_c", "04_d", "05_e"])
    assert shown[0] == "day 0 (QKV_DAY=0 repeats it)"
    assert shown[1:] == ["here      01_a 05_e", "oldest    02_b", "seeds     04_d", "stand-in  03_c"]
