"""Releases: what students get, for whom, under which names, and that nothing else leaves the results."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.collecting.listing import Listed
from proctor.examining.result import Explanation, Result
from proctor.grading.journal import GradedSubmission
from proctor.points.corrections import Correction, Corrections
from proctor.points.scheme import Scheme
from proctor.report.lms.results import Choice
from proctor.report.lms.roster import Person, Roster
from proctor.report.release import Release, write_release
from proctor.report.write import write_reports

EXERCISES = ("double", "shifted", "square", "share", "bump")
EVIL = "=cmd()<img src=x onerror=alert(1)>"


def marked(name: str, wrong: str = "") -> GradedSubmission:
    why = (Explanation("You triple x.", "Twice is enough."),)
    results = [Result(e, "passed", 1.0, 2, 2) for e in EXERCISES]
    results = [replace(r, state="not_yet", score=0.5, explanations=why) if r.exercise == wrong else r for r in results]
    return GradedSubmission(name, "d", tuple(results), (f"{name}.ipynb is empty.",), code="secret = 1")


@pytest.fixture
def release(tmp_path: Path, sample: Any) -> Release:
    results = tmp_path / "results"
    results.mkdir()
    assignment = sample.assignment()
    students = [marked("ahl_1041", "double"), marked("Ben Bo_7"), marked(EVIL)]
    write_reports(results, assignment, students)
    worth = {exercise.name: exercise.points for exercise in assignment.exercises}
    scheme = Scheme(worth, Corrections([Correction("ahl_1041", "double", "+0.25", "Well argued.")]))
    listed = [
        Listed(Person("ahl_1041", "1041", "ahl"), None, False, "", "ahl_LATE_1041_5007_"),
        Listed(Person("Ben Bo_7", "", "Ben Bo"), None, False, "", "Ben Bo_7_assignsubmission_file_"),
    ]
    roster = Roster([Person("ahl_1041", "1041", "Ahl, Anna", "aahl")])
    return Release(results, assignment, scheme, Choice(), roster, listed, "qkv")


def table(path: Path) -> list[list[str]]:
    return list(csv.reader(path.open(encoding="utf-8", newline="")))


def test_all_of_it(tmp_path: Path, release: Release) -> None:
    said = write_release(release, tmp_path / "out")
    out = tmp_path / "out"
    assert sorted(place.name for place in out.iterdir()) == [
        "canvas-comments.csv", "canvas-feedback.zip", "canvas.csv", "feedback", "grades.csv", "moodle-feedback.zip",
        "moodle.csv", "released.csv",
    ]  # fmt: skip
    page = (out / "feedback" / "ahl_1041.html").read_text("utf-8")
    assert "Well argued." in page
    assert "a person corrected it to 0.75" in page
    assert table(out / "grades.csv")[1] == ["ahl_1041", "1041", "Ahl, Anna", "0.75", "2", "1", "1", "1", "5.75"]
    assert table(out / "canvas.csv")[2][:2] == ["Ahl, Anna", "1041"]
    assert [row[:5] for row in table(out / "moodle.csv")] == [
        ["idnumber", "username", "email", "double", "shifted"],
        ["1041", "aahl", "", "0.75", "2"],
    ]
    comments = table(out / "canvas-comments.csv")
    assert comments[1][:3] == ["Ahl, Anna", "1041", "aahl"]
    assert comments[1][3].startswith("5.75 of 6 points.\n\ndouble: not yet")
    assert comments[1][3].endswith("Comment: Well argued.")
    assert comments[3][:1] == [f"'{EVIL}"]
    assert table(out / "released.csv") == [
        ["student", "page", "points"],
        [f"'{EVIL}", f"'{EVIL}.html", "6"],
        ["Ben Bo_7", "Ben Bo_7.html", "6"],
        ["ahl_1041", "ahl_1041.html", "5.75"],
    ]
    unknown = f"Not in the roster: Ben Bo_7 and {EVIL}."
    assert said == [unknown, f"{unknown} Moodle refuses a whole file for one line without an id: they have none in it."]


def test_archives_have_the_names_that_the_download_had(tmp_path: Path, release: Release) -> None:
    write_release(release, tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "out" / "canvas-feedback.zip") as archive:
        assert archive.namelist() == ["ahl_LATE_1041_5007_feedback.html"]
        page = archive.read("ahl_LATE_1041_5007_feedback.html")
    assert page == (tmp_path / "out" / "feedback" / "ahl_1041.html").read_bytes()
    with zipfile.ZipFile(tmp_path / "out" / "moodle-feedback.zip") as archive:
        (name,) = archive.namelist()
    assert name == "Ben Bo_7_assignsubmission_file_/feedback.html"
    fullname, number, plugin, kind, _ = name.partition("/")[0].split("_")  # as Moodle's import takes it apart
    assert (fullname, number, plugin, kind) == ("Ben Bo", "7", "assignsubmission", "file")


def test_some_students_and_some_exercises(tmp_path: Path, release: Release, sample: Any) -> None:
    choice = Choice(frozenset(["ahl_1041"]), frozenset(["double", "square"]))
    some = replace(release, choice=choice, assignment=sample.assignment(("double", "square")))
    assert write_release(some, tmp_path / "out") == []
    assert [p.name for p in (tmp_path / "out" / "feedback").iterdir()] == ["ahl_1041.html"]
    page = (tmp_path / "out" / "feedback" / "ahl_1041.html").read_text("utf-8")
    assert "1.75 of 2 points" in page
    assert "shifted" not in page
    assert table(tmp_path / "out" / "canvas.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "double", "square"],
        ["    Points Possible", "", "", "", "", "1", "1"],
        ["Ahl, Anna", "1041", "", "aahl", "", "0.75", "1"],
    ]


def test_without_names_nothing_says_who_it_is(tmp_path: Path, release: Release) -> None:
    for out in ("one", "two"):
        write_release(release, tmp_path / out, anonymous=True)
    files = {p.relative_to(tmp_path / "one").as_posix(): p.read_bytes() for p in (tmp_path / "one").rglob("*.*")}
    assert files == {
        p.relative_to(tmp_path / "two").as_posix(): p.read_bytes() for p in (tmp_path / "two").rglob("*.*")
    }
    assert {name for name in files if "/" not in name} == {"grades.csv", "released.csv"}
    for name, content in files.items():
        for identity in (b"ahl", b"1041", b"Ben Bo", b"onerror"):
            assert identity not in name.encode()
            assert identity not in content
    who = dict(table(release.results / "anonymous.csv")[1:])
    assert f"feedback/{who['ahl_1041']}.html" in files
    assert table(tmp_path / "one" / "grades.csv")[1:] == sorted(table(tmp_path / "one" / "grades.csv")[1:])


def test_no_code_leaves_the_results(tmp_path: Path, release: Release) -> None:
    write_release(release, tmp_path / "out")
    assert b"secret = 1" in (release.results / "marked.jsonl").read_bytes()
    for path in (tmp_path / "out").rglob("*.*"):
        assert b"secret = 1" not in path.read_bytes()


def test_a_release_takes_the_place_of_an_earlier_one_and_of_nothing_else(tmp_path: Path, release: Release) -> None:
    write_release(release, tmp_path / "out")
    write_release(replace(release, choice=Choice(frozenset(["Ben Bo_7"]))), tmp_path / "out")
    assert [p.name for p in (tmp_path / "out" / "feedback").iterdir()] == ["Ben Bo_7.html"]
    assert not (tmp_path / "out" / "canvas-feedback.zip").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(ValueError, match=r"mine is not empty, and no earlier release\. Name another folder with --to"):
        write_release(release, tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_release_that_was_interrupted_is_made_anew(
    tmp_path: Path, release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_release(release, out)
    before = {path.relative_to(out): path.read_bytes() for path in out.rglob("*.*")}
    move = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        if target == out / "released.csv":
            raise KeyboardInterrupt
        return move(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_release(release, out)
    assert not (out / "released.csv").exists()
    write_release(release, out)
    assert {path.relative_to(out): path.read_bytes() for path in out.rglob("*.*")} == before
