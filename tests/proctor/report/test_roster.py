"""Who is who: rosters as spreadsheets write them, what is said of bad ones, and what each LMS gets."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from proctor.report.lms import BadRoster, CannotExport, Roster, export_results, read_roster
from proctor.report.lms.roster import Person

ALL = "folder,id,name,login,email\nanna,0017,Anna Ahl,aahl,anna@example.org\nben,18,Ben Bo,bbo,ben@example.org\n"


def roster(tmp_path: Path, content: str | bytes) -> Roster:
    path = tmp_path / "who.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_roster(path)


@pytest.mark.parametrize(
    "content",
    [
        "folder,id,name\nanna,0017,Anna Ahl\n",
        "\ufeffName; ID ;Folder;Section\r\nAnna Ahl;0017; anna ;3\r\n;;;\r\n",
        'id\tname\tfolder\n0017\t"Anna Ahl"\tanna',
    ],
)
def test_a_roster_as_spreadsheets_write_it(tmp_path: Path, content: str) -> None:
    assert roster(tmp_path, content).find("anna") == Person("anna", "0017", "Anna Ahl")


def test_a_folder_is_found_however_its_name_is_written(tmp_path: Path) -> None:
    found = roster(tmp_path, "folder,id,name\nZo\u0065\u0308,1,\na\\b,2,B\nc\\\\d,3,D\n")
    assert [found.find(name).id for name in ("Zo\u00eb", "a\\\\b", "c\\\\d")] == ["1", "2", "3"]  # type: ignore[union-attr]
    assert found.people[0].name == "Zo\u0065\u0308"  # who has no name is called by the folder
    assert found.find("nobody") is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it has no column folder and no column id and no column name; it is empty, and folder,id,name is "
         "expected"),
        ("anna,17\n", "it has no column folder and no column id and no column name; its first line is 'anna,17', and "
         "folder,id,name is expected"),
        ("folder,name\nanna,Anna\n", "it has no column id; its first line is 'folder,name', and folder,id,name is "
         "expected"),
        ("folder,id,name,id\n", "it has two columns id"),
        ("folder,id,name\nanna,,Anna\n", "line 2 has no id"),
        ("folder,id,name\n\n,3,Anna\n", "line 3 has no folder"),
        ("folder,id,name\nanna\n", "line 2 has no id"),
        ("folder,id,name\nanna,1,A\nben,2,B\nanna,3,C\n", "lines 2 and 4 both have the folder 'anna'"),
        ("folder,id,name\nanna,1,A\nben,1,B\n", "lines 2 and 3 both have the id '1'"),
        ('folder,id,name\nanna,"1,A\n', "line 2 is no line of a CSV file (unexpected end of data)"),
    ],
)  # fmt: skip
def test_a_bad_roster_says_what_is_wrong(tmp_path: Path, content: str, why: str) -> None:
    with pytest.raises(BadRoster) as caught:
        roster(tmp_path, content)
    assert str(caught.value) == f"the roster {tmp_path / 'who.csv'} cannot be used: {why}."


def test_what_is_no_text_and_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadRoster, match=r"is not text in UTF-8: save it as CSV UTF-8\.$"):
        roster(tmp_path, b"folder,id,name\nZo\xeb,1,Z\n")
    with pytest.raises(BadRoster, match=r"cannot be read \(No such file or directory\)\.$"):
        read_roster(tmp_path / "nowhere.csv")


# ---- what an LMS gets


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    with (tmp_path / "results.jsonl").open("w", encoding="utf-8") as file:
        for student in ("anna", "=cmd|' /C calc'!A0"):
            row = {
                "student": student,
                "exercise": "double",
                "state": "not_yet",
                "score": 0.5,
                "message": "double: not yet",
            }
            file.write(json.dumps(row | {"seconds": 1}) + "\n")
    return tmp_path


def table(path: Path) -> list[list[str]]:
    return list(csv.reader(path.open(encoding="utf-8", newline="")))


UNKNOWN = "Not in the roster: =cmd|' /C calc'!A0."
ABSENT = "In the roster and without a submission: ben."


def test_canvas_gets_ids(graded: Path) -> None:
    said = export_results(graded, "canvas", graded / "c.csv", {}, "qkv", roster(graded, ALL))
    assert table(graded / "c.csv")[2:] == [
        ["Anna Ahl", "0017", "", "aahl", "", "0.5"],
        ["'=cmd|' /C calc'!A0", "", "", "'=cmd|' /C calc'!A0", "", "0.5"],
        ["Ben Bo", "18", "", "bbo", "", ""],
    ]
    assert said == [UNKNOWN, ABSENT]


def test_moodle_gets_ids_and_nobody_that_it_does_not_know(graded: Path) -> None:
    said = export_results(graded, "moodle", graded / "m.csv", {}, "qkv", roster(graded, ALL))
    assert table(graded / "m.csv") == [
        ["idnumber", "username", "email", "double", "total", "feedback"],
        ["0017", "aahl", "anna@example.org", "0.5", "0.5", "double: not yet"],
        ["18", "bbo", "ben@example.org", "", "", ""],
    ]
    assert said == [f"{UNKNOWN} Moodle refuses a whole file for one line without an id: they have none in it.", ABSENT]


def test_moodle_gets_only_what_the_roster_has(graded: Path) -> None:
    export_results(graded, "moodle", graded / "m.csv", {}, "qkv", roster(graded, "folder,id,name\nanna,17,Anna\n"))
    assert table(graded / "m.csv") == [
        ["idnumber", "double", "total", "feedback"],
        ["17", "0.5", "0.5", "double: not yet"],
    ]


def test_the_plain_table_says_whose_folder_it_is(graded: Path) -> None:
    export_results(graded, "csv", graded / "p.csv", {}, "qkv", roster(graded, ALL))
    assert table(graded / "p.csv") == [
        ["student", "id", "name", "double", "total"],
        ["anna", "0017", "Anna Ahl", "0.5", "0.5"],
        ["'=cmd|' /C calc'!A0", "", "", "0.5", "0.5"],
        ["ben", "18", "Ben Bo", "", ""],
    ]


def test_ids_stay_as_they_are_and_names_cannot_be_run(graded: Path) -> None:
    export_results(
        graded, "canvas", graded / "c.csv", {}, "qkv", roster(graded, "folder,id,name,login\nanna,-1,@SUM(A1),+x\n")
    )
    assert table(graded / "c.csv")[2] == ["'@SUM(A1)", "-1", "", "+x", "", "0.5"]


def test_two_spellings_of_one_name_are_named_and_never_share_an_id(graded: Path) -> None:
    rows = (graded / "results.jsonl").read_text("utf-8").splitlines()
    one = {**json.loads(rows[0]), "student": "Jose\u0301"}
    two = {**json.loads(rows[0]), "student": "Jos\u00e9"}
    (graded / "results.jsonl").write_text(json.dumps(one) + "\n" + json.dumps(two) + "\n", encoding="utf-8")
    said = export_results(graded, "csv", graded / "class.csv", {}, "qkv")
    spellings = " and ".join([ascii("Jose\u0301"), ascii("Jos\u00e9")])
    assert said == [
        f"Jos\u00e9 is the name of 2 folders, in different spellings: {spellings}. "
        "If they are one student, put their files into one folder."
    ]
    roster = Roster([Person("Jos\u00e9", "7", "Jos\u00e9")])
    with pytest.raises(CannotExport, match=r"The roster has one id for them: put their files into one folder"):
        export_results(graded, "canvas", graded / "class.csv", {}, "qkv", roster)
