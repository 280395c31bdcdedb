"""Collecting a class from what five systems hand out: who is who, which upload counts, and what is not guessed."""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from proctor.collecting.collect import BadDownload, Collected, collect_class
from proctor.collecting.forms import FORMS
from proctor.collecting.listing import read_listing, roster_of_listing, write_listing
from proctor.collecting.upload import time_of
from proctor.marking.submissions import MB
from proctor.report.lms.roster import Person, Roster
from qkv.commands import cli

spec = importlib.util.spec_from_file_location("downloads", Path(__file__).with_name("downloads.py"))
assert spec is not None
assert spec.loader is not None
downloads: Any = importlib.util.module_from_spec(spec)
sys.modules["downloads"] = downloads
spec.loader.exec_module(downloads)

ANNA = downloads.Person("Anna Ahl", "1041", "aahl", {"a.py": "anna = 1", "notes.txt": "x"})
BEN = downloads.Person("Ben O'Bo", "1042", "ben-b", {"b.py": ["ben = 1", "ben = 2", "ben = 3"]}, late=True)
CHEN = downloads.Person("陈 伟", "1043", "chen", {"01_lookup.ipynb": "{}", "b.py": "chen = 1"}, "2026-11-18 09:30:00")
PEOPLE = [ANNA, BEN, CHEN]
NAMES = {
    "canvas": ["annaahl_1041", "benobo_1042", "陈伟_1043"],
    "moodle": ["Anna Ahl_12345", "Ben O'Bo_12346", "陈 伟_12347"],
    "gradescope": ["1041", "1042", "1043"],
    "nbgrader": ["aahl", "ben-b", "chen"],
    "classroom": ["aahl", "ben-b", "chen"],
}


def collected(tmp_path: Path, files: Any, packed: str, **options: Any) -> Collected:
    make = downloads.as_zip if packed == "zip" else downloads.as_folder
    return collect_class(make(files, tmp_path / f"class.{packed}"), tmp_path / "unpacked", **options)


def contents(found: Collected) -> dict[str, dict[str, str]]:
    return {
        submission.student: {file.name: file.problem or file.content.decode() for file in submission.load()}
        for submission in found.submissions.submissions
    }


def test_the_command_knows_all_forms() -> None:
    assert set(cli.FORMS) == set(FORMS)


@pytest.mark.parametrize("packed", ["zip", "folder"])
@pytest.mark.parametrize("form", downloads.ALL)
def test_each_form_is_recognised_zipped_or_not(tmp_path: Path, form: str, packed: str) -> None:
    found = collected(tmp_path, downloads.ALL[form](PEOPLE), packed)
    assert found.form == form
    assert list(contents(found)) == NAMES[form]
    assert found.unclear == []
    works = list(contents(found).values())
    prefix = "ps1/" if form == "nbgrader" else ""
    last = "b-2.py" if form == "canvas" else "b.py"
    assert works[0] == {f"{prefix}a.py": "anna = 1"}
    assert works[1] == {f"{prefix}{last}": "ben = 3"}
    assert works[2] == {f"{prefix}01_lookup.ipynb": "{}", f"{prefix}b.py": "chen = 1"}


@pytest.mark.parametrize("form", downloads.ALL)
def test_times_are_those_that_the_download_tells(tmp_path: Path, form: str) -> None:
    found = collected(tmp_path, downloads.ALL[form](PEOPLE), "zip")
    told = [student.at.strftime("%d %H:%M") if student.at else None for student in found.students]
    assert told == (["17 20:00", "17 20:00", "18 09:30"] if form in ("gradescope", "nbgrader") else [None] * 3)
    assert [student.late for student in found.students] == [False, form == "canvas", False]


def test_the_newest_upload_counts_and_the_others_are_named(tmp_path: Path) -> None:
    found = collected(tmp_path, downloads.canvas(PEOPLE), "zip")
    assert found.older == [
        "benobo_1042: benobo_LATE_1042_5005_b-2.py counts, the newest; "
        "not benobo_LATE_1042_5003_b.py and benobo_LATE_1042_5004_b-1.py."
    ]


def test_parts_that_are_numbered_are_no_versions(tmp_path: Path) -> None:
    files = {"ahl_1_11_part-1.py": "one = 1", "ahl_1_12_part-2.py": "two = 2"}
    found = collected(tmp_path, files, "folder")
    assert contents(found) == {"ahl_1": {"part-1.py": "one = 1", "part-2.py": "two = 2"}}
    assert found.remarks == ["ahl_1: part-1.py and part-2.py are taken as parts, not as versions of one file."]


def test_canvas_without_names_and_with_typed_text(tmp_path: Path) -> None:
    files = {"anon_x7Qz2_5001_01_lookup.py": "a = 1", "anon_Ab3De_LATE_5002_b.py": "b = 1", "ahl_1_text.html": "hello"}
    found = collected(tmp_path, files, "zip")
    assert list(contents(found)) == ["anon_Ab3De", "anon_x7Qz2"]
    assert found.submissions.ignored == ["ahl_1_text.html (typed into Canvas, not a file)"]


def test_an_older_moodle(tmp_path: Path) -> None:
    files = {"Anna Ahl_7_assignsubmission_file_a.py": "a = 1", "Ben Bo_8_assignsubmission_file_/x/b.py": "b = 1"}
    files["Cy_9_assignsubmission_onlinetext_/onlinetext.html"] = "hello"
    found = collected(tmp_path, files, "zip")
    assert contents(found) == {"Anna Ahl_7": {"a.py": "a = 1"}, "Ben Bo_8": {"x/b.py": "b = 1"}}
    assert found.submissions.ignored == ["Cy_9_assignsubmission_onlinetext_ (typed into Moodle, not a file)"]
    assert [student.who.original for student in found.students] == [
        "Anna Ahl_7_assignsubmission_file_",
        "Ben Bo_8_assignsubmission_file_",
    ]


@pytest.mark.parametrize("packed", ["zip", "folder"])
def test_a_group_of_gradescope_is_marked_for_each(tmp_path: Path, packed: str) -> None:
    described = (
        "submission_1:\n  :submitters:\n  - :name: Anna\n    :sid: '1'\n"
        "  - :name: Ben\n    :sid: ''\n    :email: b@x.org\n"
        "submission_2:\n  :submitters: []\nsubmission_3:\n  :submitters:\n  - :name: Anna\n    :sid: '1'\n"
        "  :created_at: 2026-11-18 08:00:00 Z\nsubmission_4: {}\n"
    )
    files = {f"submission_{i}/a.py": f"a = {i}" for i in (1, 2, 3)} | {"submission_metadata.yml": described}
    found = collected(tmp_path, files, packed)
    assert contents(found) == {"1": {"a.py": "a = 3"}, "b@x.org": {"a.py": "a = 1"}}
    assert found.older == ["1: submission_3 counts, the newest; not submission_1."]
    assert found.unclear == ["submission_2"]
    assert found.remarks == ["submission_metadata.yml speaks of submission_4, which is not there."]


def test_a_roster_settles_what_is_unclear_and_who_is_who(tmp_path: Path) -> None:
    files = {"ahl_1_11_a.py": "a = 1", "bo_2_12_b.py": "b = 1", "mail_from_cy.py": "c = 1", "what.py": "d = 1"}
    found = collected(tmp_path, files, "folder", form="canvas")
    assert (list(contents(found)), found.unclear) == (["ahl_1", "bo_2"], ["mail_from_cy.py", "what.py"])
    roster = Roster([Person("anna", "1", "Anna Ahl"), Person("mail_from_cy", "3", "Cy")])
    found = collect_class(tmp_path / "class.folder", tmp_path / "u", roster=roster, form="canvas")
    assert contents(found) == {"anna": {"a.py": "a = 1"}, "bo_2": {"b.py": "b = 1"}, "mail_from_cy": {
        "mail_from_cy.py": "c = 1"}}  # fmt: skip
    assert found.unclear == ["what.py"]


def test_one_repository_does_not_tell_where_its_login_begins(tmp_path: Path) -> None:
    found = collected(tmp_path, {"hw1-a-b/a.py": "a = 1", "hw1-a-b/.git/HEAD": "x"}, "folder")
    assert (found.form, contents(found), found.unclear) == ("classroom", {}, ["hw1-a-b"])


def test_no_student_decides_what_the_class_is(tmp_path: Path) -> None:
    """Whatever is in one student's folder, the others stay who they are."""
    files = {f"{name}/a.py": "a = 1" for name in ("anna", "ben", "cy")} | {"dora.py": "d = 1"}
    files |= {"eve/.git/HEAD": "", "eve/ps1/timestamp.txt": "2020-01-01", "eve/ps1/submission_metadata.yml": "{}"}
    files |= {"eve/submitted/anna/a.py": "", "eve/x_1_2_a.py": "e = 1", "eve/Z_1_assignsubmission_file/a.py": "e = 2"}
    found = collected(tmp_path, files, "folder")
    assert (found.form, list(contents(found))) == ("folders", ["anna", "ben", "cy", "dora", "eve"])


def test_a_time_in_a_folder(tmp_path: Path) -> None:
    found = collected(tmp_path, {"anna/a.py": "1", "anna/timestamp.txt": "2026-11-18T10:00:00+02:00", "b.py": "2"}, "f")
    assert [student.at.isoformat() if student.at else None for student in found.students] == [
        "2026-11-18T08:00:00+00:00",
        None,
    ]


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "9" * 5000, "0001-01-01 00:00:00+23:00"])
def test_what_is_no_time(text: str) -> None:
    assert time_of(text) is None


# ---- hostile and broken downloads


def test_names_that_leave_the_folder_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "class.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("ahl_1_12_link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        for name in ("../evil_1_13_a.py", "/abs_1_14_a.py", "a\\b_1_15_a.py", "ahl_1_11_a.py"):
            archive.writestr(name, "a = 1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("ahl_1_11_a.py", "a = 2")
    found = collect_class(path, tmp_path / "unpacked")
    assert contents(found) == {"ahl_1": {"a.py": "a = 1"}}
    assert found.submissions.ignored == [
        "ahl_1_12_link.py",
        "../evil_1_13_a.py",
        "/abs_1_14_a.py",
        r"a\\b_1_15_a.py",
        "ahl_1_11_a.py (it is there twice)",
    ]
    assert {place.name for place in tmp_path.iterdir()} == {"class.zip", "unpacked"}


def test_a_bomb_costs_its_author_and_nobody_else(tmp_path: Path) -> None:
    files = {f"Eve_1_assignsubmission_file/{i}.ipynb": b"0" * (60 * MB) for i in range(4)}
    files |= {"Eve_1_assignsubmission_file/5.py": b"0" * (3 * MB), "Ann_2_assignsubmission_file/a.py": b"a = 1"}
    found = collected(tmp_path, files, "zip")
    assert sum(path.stat().st_size for path in (tmp_path / "unpacked").rglob("*.*")) < 129 * MB
    work = contents(found)
    assert work["Ann_2"] == {"a.py": "a = 1"}
    assert work["Eve_1"]["3.ipynb"] == "3.ipynb was not read: the files of one student may have 128 MB together."
    assert work["Eve_1"]["5.py"] == "5.py has 3 MB; at most 2 MB are read."


def test_a_damaged_file_is_told_to_its_author(tmp_path: Path) -> None:
    path = downloads.as_zip({"ahl_1_11_a.py": "a = 12345678", "bo_2_12_b.py": "b = 1"}, tmp_path / "class.zip")
    content = bytearray(path.read_bytes())
    at = content.index(b"ahl_1_11_a.py") + len("ahl_1_11_a.py")
    content[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(content)
    assert contents(collect_class(path, tmp_path / "unpacked")) == {
        "ahl_1": {"a.py": "a.py could not be read: it is damaged in the download, or locked by a password."},
        "bo_2": {"b.py": "b = 1"},
    }


def test_a_file_and_a_folder_of_one_name(tmp_path: Path) -> None:
    files = {"A_1_assignsubmission_file/x.py": "a = 1", "A_1_assignsubmission_file/x.py/y.py": "b = 1"}
    files["B_2_assignsubmission_file/b.py"] = "b = 1"
    assert contents(collected(tmp_path, files, "zip"))["B_2"] == {"b.py": "b = 1"}


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"no zip", "is not a zip file that can be read. Download it again."), (b"", "is not a zip file")],
)
def test_what_is_no_download(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "class.zip").write_bytes(content)
    with pytest.raises(BadDownload, match=why):
        collect_class(tmp_path / "class.zip", tmp_path / "unpacked")


@pytest.mark.parametrize("text", ["a: [", "- 1", "", "a: !!python/object:os.system {}"])
def test_a_description_that_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadDownload, match=r"submission_metadata\.yml (cannot be read|describes no submission)"):
        collected(tmp_path, {"submission_metadata.yml": text, "submission_1/a.py": "a"}, "zip")


def test_a_download_of_another_form(tmp_path: Path) -> None:
    with pytest.raises(BadDownload, match="does not look like Moodle's download"):
        collected(tmp_path, {"anna/a.py": "1", "ben/b.py": "1"}, "folder", form="moodle")


# ---- the list of who is who


def test_the_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    people = [downloads.Person("=Evil <b>", "7", "e", {"a.py": "1"}), *PEOPLE]
    found = collected(tmp_path, downloads.moodle(people), "zip")
    write_listing(tmp_path / "collected.csv", found)
    assert (tmp_path / "collected.csv").read_text("utf-8").splitlines()[1].startswith("'=Evil <b>_12345,,'=Evil <b>,")
    listed = read_listing(tmp_path / "collected.csv")
    assert [one.person.folder for one in listed] == [student.who.folder for student in found.students]
    assert listed[0].original == "=Evil <b>_12345_assignsubmission_file_"
    assert roster_of_listing(listed) is None


def test_the_ids_of_a_download_are_a_roster(tmp_path: Path) -> None:
    found = collected(tmp_path, downloads.canvas(PEOPLE), "zip")
    write_listing(tmp_path / "collected.csv", found)
    listed = read_listing(tmp_path / "collected.csv")
    roster = roster_of_listing(listed)
    assert roster is not None
    assert roster.find("benobo_1042") == Person("benobo_1042", "1042", "benobo")
    assert [one.late for one in listed] == [False, True, False]


# ---- names


def test_hostile_names_are_shown_as_what_they_are(tmp_path: Path) -> None:
    names = ["=cmd()|'x'!A0", "<img src=x onerror=alert(1)>", "a\u202egnp", "\x1b[31mred", "Zoe\u0308"]
    people = [downloads.Person(name, str(i), f"p{i}", {"a.py": "1"}) for i, name in enumerate(names, start=1)]
    found = collected(tmp_path, downloads.moodle(people), "zip")
    students = [student.who.folder for student in found.students]
    assert sorted(students) == sorted(
        ["=cmd()|'x'!A0_12345", "<img src=x onerror=alert(1)>_12346", r"a\u202egnp_12347", r"\u001b[31mred_12348",
         "Zoe\u0308_12349"]
    )  # fmt: skip
    write_listing(tmp_path / "collected.csv", found)
    assert [one.person.folder for one in read_listing(tmp_path / "collected.csv")] == students


def test_two_who_look_like_one_of_the_roster_are_told_apart(tmp_path: Path) -> None:
    people = [
        downloads.Person("Anna Ahl", "1", "a", {"a.py": "1"}),
        downloads.Person("Anna Ahl", "2", "b", {"a.py": "2"}),
    ]
    roster = Roster([Person("anna", "1041", "Anna Ahl"), Person("ben", "1042", "Ben Bo")])
    found = collected(tmp_path, downloads.moodle(people), "zip", roster=roster)
    assert list(contents(found)) == ["Anna Ahl_12345", "Anna Ahl_12346"]
    assert found.remarks == [
        "Anna Ahl_12345 and Anna Ahl_12346 all look like anna of the roster; nobody is taken for it."
    ]
