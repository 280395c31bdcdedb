"""A zip file as a submission: it is read as if it were a folder, and nothing that it claims is believed."""

from __future__ import annotations

import io
import random
import time
import zipfile
from pathlib import Path

import pytest

from proctor.marking import archives, submissions
from proctor.marking.submissions import Submission, collect
from proctor.marking.unzip import BadMember, unzipped


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


def test_whatever_a_reader_raises_is_a_sentence_to_its_author(tmp_path: Path) -> None:
    """Damaged data of every method, and a member without a name: the grading of a class once ended with each."""
    draw = random.Random(0)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", method) as made:
            made.writestr("a.py", "a = 1\n" * 50)
            made.writestr(zipfile.ZipInfo(""), "nameless")
        for _ in range(300):
            content = bytearray(whole.getvalue())
            for _ in range(draw.randint(1, 4)):
                content[draw.randrange(len(content))] = draw.randrange(256)
            (tmp_path / "eve.zip").write_bytes(content)
            files = Submission("eve", (tmp_path / "eve.zip",)).load()
            assert files
            assert all(file.content or file.problem for file in files)


def test_what_is_unpacked_counts_even_if_it_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MOST_BYTES", 30_000)
    unpacked = []
    monkeypatch.setattr(archives, "unzipped", lambda *a: unpacked.append(len(got := unzipped(*a))) or got)
    for name in ("a", "b"):
        archive(tmp_path / f"{name}.zip", **{f"{name}{i}_py": "x" * 20_000 for i in range(40)})
    files = Submission("eve", (tmp_path / "a.zip", tmp_path / "b.zip")).load()
    assert sum(unpacked) <= 30_000
    assert sum(bool(file.content) for file in files) == 1


METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_member_that_claims_less_than_it_has_is_not_unpacked(method: int) -> None:
    """Of bzip2 and LZMA `zipfile` unpacks all that a piece of 4 kB holds, a second for every member of a kilobyte."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as made:
        made.writestr("a.py", bytes(50 * 2**20))
    with zipfile.ZipFile(whole) as archive:
        (info,) = archive.infolist()
        info.file_size = 50
        began = time.process_time()
        for _ in range(5):
            with pytest.raises(BadMember):
                unzipped(archive, info, 2**21)
        assert time.process_time() - began < 0.2  # 50 MB of bzip2 take longer


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [0, 1, 1000, 300_000])
def test_a_member_comes_out_as_it_went_in(method: int, size: int) -> None:
    content = random.Random(size).randbytes(size // 2) + bytes(size - size // 2)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as made:
        made.writestr("a.py", content)
    with zipfile.ZipFile(whole) as archive:
        (info,) = archive.infolist()
        assert unzipped(archive, info, 2**21) == content
        assert unzipped(archive, info, 400) == content[:401]


def test_the_files_of_one_student_are_bounded_over_all_archives(tmp_path: Path) -> None:
    for name in ("a", "b"):
        archive(tmp_path / f"{name}.zip", **{f"{name}{i}_py": "x = 1" for i in range(150)})
    files = Submission("eve", (tmp_path / "a.zip", tmp_path / "b.zip")).load()
    assert sum(bool(file.content) for file in files) == submissions.MOST_FILES
    assert files[-1].problem == "There are 150 files in b.zip; the first 50 were read."


def test_an_archive_of_countless_entries_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "eve.zip"
    with zipfile.ZipFile(path, "w") as made:
        for i in range(10_001):
            made.writestr(f"{i}.txt", "")
    assert Submission("eve", (path,)).load()[0].problem == "eve.zip was not read: it has more than 10,000 entries."


def test_a_name_that_no_system_stores_is_cut(tmp_path: Path) -> None:
    (file,) = Submission("eve", (archive(tmp_path / "eve.zip", **{f"{'n' * 60_000}_py": "a = 1"}),)).load()
    assert len(file.name) == 141
    assert file.name.endswith("nnn.py")
