"""A zip file as a submission: it is read as if it were a folder, and nothing that it claims is believed."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from proctor.marking import submissions
from proctor.marking.submissions import Submission, collect


def archive(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name.replace("__", "/").replace("_py", ".py").replace("_txt", ".txt"), content)
    return path


def test_an_archive_is_its_students(tmp_path: Path) -> None:
    archive(tmp_path / "alice.zip", b_py="b = 1", a_py="a = 1", notes_txt="no code")
    (tmp_path / "bob").mkdir()
    archive(tmp_path / "bob" / "hand-in-7.zip", work__c_py="c = 1")
    (tmp_path / "bob" / "d.py").write_text("d = 1")
    found = collect(tmp_path).submissions
    assert [s.student for s in found] == ["alice", "bob"]
    assert [[(f.name, f.content) for f in s.load()] for s in found] == [
        [("a.py", b"a = 1"), ("b.py", b"b = 1")],
        [("d.py", b"d = 1"), ("work/c.py", b"c = 1")],
    ]


def test_names_lead_nowhere(tmp_path: Path) -> None:
    path = archive(tmp_path / "eve.zip", **{"../../etc/a_py": "a = 1", "/top/b_py": "b = 1", "MACOSX/.c_py": "c = 1"})
    assert [f.name for f in Submission("eve", (path,)).load()] == ["etc/a.py", "top/b.py"]


def test_a_bomb_is_told_and_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(submissions.LARGEST, ".py", 1000)
    path = archive(tmp_path / "eve.zip", bomb_py="a" * 10_000_000, small_py="b = 1")
    bomb, small = Submission("eve", (path,)).load()
    assert bomb.problem == "bomb.py was not read: it is too large."
    assert small.content == b"b = 1"


def test_what_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "eve.zip"
    path.write_bytes(b"PK\x03\x04 nothing")
    assert Submission("eve", (path,)).load()[0].problem == "eve.zip is not a zip file that can be read."
    path = archive(tmp_path / "bob.zip", notes_txt="no code")
    assert Submission("bob", (path,)).load()[0].problem == "There is no notebook and no .py file in bob.zip."
