"""Who handed in what: layouts, names, and files that are not what they should be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.marking import submissions
from proctor.marking.submissions import LARGEST, MOST_FILES, File, Submission, collect, digest, legible


def handed_in(root: Path, files: dict[str, str]) -> dict[str, Submission]:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return {submission.student: submission for submission in collect(root).submissions}


def test_a_student_is_a_folder_or_a_file(tmp_path: Path) -> None:
    found = handed_in(tmp_path, {"alice/a.ipynb": "1", "bob.py": "2", "carol.ipynb": "3", "陈 伟/作业.ipynb": "4"})
    assert list(found) == ["alice", "bob", "carol", "陈 伟"]
    assert [file.name for file in found["陈 伟"].load()] == ["作业.ipynb"]


def test_all_files_of_one_name_are_one_students(tmp_path: Path) -> None:
    found = handed_in(tmp_path, {"alice/b.py": "1", "alice.ipynb": "2", "alice.py": "3", "Bob.PY": "4"})
    assert list(found) == ["alice", "Bob"]
    assert [file.name for file in found["alice"].load()] == ["alice.ipynb", "alice.py", "b.py"]
    assert found["Bob"].load()[0].content == b"4"


def test_nbgraders_layout(tmp_path: Path) -> None:
    found = handed_in(
        tmp_path, {"alice/ps1/problem1.ipynb": "1", "alice/ps1/timestamp.txt": "now", "alice/ps2/p.ipynb": "2"}
    )
    assert [file.name for file in found["alice"].load()] == ["ps1/problem1.ipynb", "ps2/p.ipynb"]


def test_what_tools_leave_behind_is_nobodys(tmp_path: Path) -> None:
    files = ["alice/.ipynb_checkpoints/a.ipynb", "alice/__pycache__/x.py", "__MACOSX/a.py", ".hidden.py", "alice/a.py"]
    found = handed_in(tmp_path, dict.fromkeys(files, "1"))
    assert list(found) == ["alice"]
    assert [file.name for file in found["alice"].load()] == ["a.py"]


def test_other_files_beside_the_students_are_named(tmp_path: Path) -> None:
    handed_in(tmp_path, {"README.md": "x", "roster.csv": "x", "alice.py": "1"})
    assert collect(tmp_path).ignored == ["README.md", "roster.csv"]


def test_what_begins_with_a_dot_is_named_too(tmp_path: Path) -> None:
    handed_in(tmp_path, {".alice/a.py": "x", ".bob.py": "x", "__MACOSX/x.py": "x", "carol.py": "1", ".graded/x": "1"})
    found = collect(tmp_path, but=tmp_path / ".graded")
    assert found.ignored == [".alice", ".bob.py", "__MACOSX"]
    assert [submission.student for submission in found.submissions] == ["carol"]


def test_where_results_go_is_nobodys_folder(tmp_path: Path) -> None:
    handed_in(tmp_path, {"alice.py": "1", "graded/feedback/a.py": "2"})
    assert [s.student for s in collect(tmp_path, but=tmp_path / "graded").submissions] == ["alice"]


def test_too_many_files(tmp_path: Path) -> None:
    found = handed_in(tmp_path, {f"alice/{number:03}.py": "x = 1" for number in range(MOST_FILES + 5)})
    files = found["alice"].load()
    assert len(files) == MOST_FILES + 1
    assert files[-1].problem == "There are 205 files; the first 200 were read."


def test_the_bytes_of_one_student_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MOST_BYTES", 2 * 2**20)
    sizes = {"a": 900_000, "b": 900_000, "c": 900_000, "d": 100_000, "e": 800_000}
    found = handed_in(tmp_path, {f"anna/{name}.py": "#" * size for name, size in sizes.items()})
    files = found["anna"].load()
    assert [(file.name, len(file.content)) for file in files] == [
        ("a.py", 900_000), ("b.py", 900_000), ("d.py", 100_000), ("c.py", 0)
    ]  # fmt: skip
    assert files[-1].problem == "c.py and e.py were not read: the files of one student may have 2 MB together."


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = handed_in(tmp_path, {"anna/a.py": "1", "anna/locked/b.py": "2"})
    calm = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return calm(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert found["anna"].load() == [
        File("a.py", b"1"),
        File("anna/locked", problem="The folder anna/locked could not be read (Permission denied)."),
    ]


def test_an_empty_folder_is_an_empty_submission(tmp_path: Path) -> None:
    (tmp_path / "zeno").mkdir()
    assert collect(tmp_path).submissions[0].load() == []


@pytest.mark.parametrize("content", ["", "  \n\t\n"])
def test_an_empty_file_says_so(tmp_path: Path, content: str) -> None:
    found = handed_in(tmp_path, {"alice.py": content})
    assert found["alice"].load() == [File("alice.py", problem="alice.py is empty.")]


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "alice.py").open("wb") as file:
        file.truncate(LARGEST[".py"] + 2**20)
    (file,) = collect(tmp_path).submissions[0].load()
    assert file == File("alice.py", problem="alice.py has 3 MB; at most 2 MB are read.")


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("answers = 42")
    class_folder = tmp_path / "class"
    (class_folder / "alice").mkdir(parents=True)
    (class_folder / "alice" / "a.py").symlink_to(secret)
    (class_folder / "alice" / "folder").symlink_to(tmp_path)
    (class_folder / "eve.py").symlink_to(secret)
    found = collect(class_folder)
    assert found.ignored == ["eve.py (a link)"]
    assert found.submissions[0].load() == [File("a.py", problem="a.py is a link, and links are not followed.")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system here")
def test_a_pipe_does_not_make_us_wait(tmp_path: Path) -> None:
    (tmp_path / "alice").mkdir()
    os.mkfifo(tmp_path / "alice" / "a.py")
    assert collect(tmp_path).submissions[0].load() == [File("a.py", problem="a.py is not a regular file.")]


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    os.mkdir(os.fsencode(tmp_path) + b"/al\xffice")
    (submission,) = collect(tmp_path).submissions
    assert submission.student == "al\\xffice"
    submission.student.encode()


def test_two_names_never_become_one(tmp_path: Path) -> None:
    for name in (b"\xff", b"\\xff", b"\xc3\xbf", b"\\\\xff", b"\\u00ff", b"\xc2\x85", b"\x85"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    students = [submission.student for submission in collect(tmp_path).submissions]
    assert sorted(students) == sorted(
        ["\\xff", "\\\\xff", "ÿ", "\\\\\\\\xff", "\\\\u00ff", "\\u0085", "\\x85"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("anna\u202egpj", "anna\\u202egpj"),
        ("a\nb\tc\x1b[31m", "a\\u000ab\\u0009c\\u001b[31m"),
        ("a\u2066b\u2069\u200f", "a\\u2066b\\u2069\\u200f"),
        ("\ufeffanna\U000e0041", "\\ufeffanna\\U000e0041"),
        ("陈\u3000伟 Zoë O’Neil d'Arc עדי محمد", "陈\u3000伟 Zoë O’Neil d'Arc עדי محمد"),
        ("علی\u200cرضا", "علی\u200cرضا"),
    ],
)
def test_what_nobody_sees_in_a_name_is_shown(name: str, shown: str) -> None:
    assert legible(name) == shown


def test_the_digest_changes_with_any_of_it() -> None:
    files = [File("a.py", b"1"), File("b.py", b"2")]
    others = [[File("a.py", b"1")], [File("a.py", b"12"), File("b.py", b"")], [File("a.py", problem="1"), files[1]]]
    assert digest(files) == digest(list(files))
    assert len({digest(files), *map(digest, others)}) == 4
