"""Which submissions are alike, and which only solve the same exercise."""

from __future__ import annotations

import sys

import pytest

from proctor.grading.similarity import Likeness, code_shape

copydetect = pytest.importorskip("copydetect")

UNUSUAL = '''
def attention(q, k, v, mask=None):
    """Mine."""
    scores = torch.zeros(q.shape[0], k.shape[0])
    for i in range(q.shape[0]):
        for j in range(k.shape[0]):
            total = 0.0
            for c in range(q.shape[1]):
                total = total + q[i, c] * k[j, c]
            scores[i, j] = total / q.shape[1] ** 0.5
    rows = [row - row.max() for row in scores]
    rows = [row.exp() / row.exp().sum() for row in rows]
    return sum(row[:, None] * v for row in rows), rows
'''
COMMON = "def attention(q, k, v):\n    w = (q @ k.T / k.size(-1) ** 0.5).softmax(-1)\n    return w @ v, w\n" * 3


def likeness(**code: str) -> list[tuple[str, str]]:
    found = Likeness()
    for student, text in code.items():
        found.add(student, text)
    return [(pair.first, pair.second) for pair in found.pairs()]


def test_shape_forgets_names_comments_and_layout() -> None:
    renamed = UNUSUAL.replace("scores", "table").replace("Mine", "My own work").replace("total", "t")
    assert code_shape(renamed + "# nothing\n\n") == code_shape(UNUSUAL)
    assert code_shape("x = 'a' + \"it's\" # c") == "V=S+S"


def test_a_copy_with_other_names_is_found() -> None:
    copy = UNUSUAL.replace("scores", "s").replace("rows", "r").replace('"""Mine."""', "# my idea")
    others = {f"student{i}": COMMON for i in range(10)}
    assert likeness(anna=UNUSUAL, ben=copy, **others) == [("anna", "ben")]


def test_what_many_write_is_not_suspicious() -> None:
    assert likeness(**{f"student{i}": COMMON for i in range(10)}) == []


def test_the_same_code_is_the_same_however_many_hand_it_in() -> None:
    for count in (2, 4, 5, 10):
        pairs = likeness(**{f"student{i}": UNUSUAL for i in range(count)})
        assert pairs == [("student0", f"student{i}") for i in range(1, count)]


def test_copies_under_other_names_are_found_however_many_there_are() -> None:
    """A line more in each, or names of one's own: what five or six share is not usual for that."""
    twice = UNUSUAL + UNUSUAL.replace("attention", "again")
    for count in (5, 8, 20):
        copies = {f"student{i:02}": twice.replace("scores", f"s{i}").replace("rows", f"r{i}") for i in range(count)}
        assert likeness(**copies) == [("student00", f"student{i:02}") for i in range(1, count)]
    more = [UNUSUAL.replace("    return sum", f"    {'x = ' * (i + 1)}0\n    return sum") for i in range(6)]
    assert len(likeness(**{f"student{i}": text for i, text in enumerate(more)})) == 15


def test_little_code_is_not_compared() -> None:
    assert likeness(a="def f(x): return x", b="def f(x): return x", c="") == []


def test_a_copydetect_that_does_not_work_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Likeness()
    found.add("anna", UNUSUAL)
    found.add("ben", UNUSUAL)
    assert found.pairs()
    monkeypatch.setitem(sys.modules, "copydetect", None)
    assert found.pairs() == []
    assert not found.compared
