"""Corrections by a person: read with a sentence for every mistake, written so that nothing is lost, in the points."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.points.corrections import BadCorrections, Correction, Corrections, read, write
from proctor.points.scheme import Scheme
from proctor.tables import ended

WORTH = {"double": 1.0, "shifted": 2.0}
NO_NUMBER = (
    "is no number of points: write 0.5, or +0.5 or -0.5 to change what the check gave, or nothing for a comment alone"
)
HEADER = "folder,exercise,points,comment\n"


def corrections(tmp_path: Path, content: str | bytes) -> list[Correction]:
    path = tmp_path / "corrections.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read(path, WORTH))


def test_a_file_that_is_not_there_corrects_nothing(tmp_path: Path) -> None:
    assert list(read(tmp_path / "corrections.csv", WORTH)) == []


@pytest.mark.parametrize(
    "content",
    [
        HEADER + 'anna,double,+0.5,"Good, but slow."\nben,shifted,1.25,\n\ncara,double,,Look again\n',
        "\ufeffExercise; Folder ;Comment;POINTS\r\n"
        "double;anna;Good, but slow.;+0,5\r\nshifted;ben;;1,25\r\n;;;\r\ndouble;cara;Look again;\r\n",
        "folder\texercise\tpoints\tcomment\nanna\tdouble\t'+0.5\tGood, but slow.\nben\tshifted\t1.25\n"
        "cara\tdouble\t\tLook again",
    ],
)
def test_corrections_as_spreadsheets_write_them(tmp_path: Path, content: str) -> None:
    found = [(c.folder, c.exercise, c.points, c.comment) for c in corrections(tmp_path, content)]
    assert found == [
        ("anna", "double", "+0.5", "Good, but slow."),
        ("ben", "shifted", "1.25", ""),
        ("cara", "double", "", "Look again"),
    ]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("anna,double,half,", f"'half' {NO_NUMBER}"),
        ("anna,double,nan,", f"'nan' {NO_NUMBER}"),
        ("anna,double,1_0,", f"'1_0' {NO_NUMBER}"),
        (",double,1,", "there is no folder"),
        ("anna,,1,", "there is no exercise"),
        ("anna,doubel,1,", "there is no exercise 'doubel'; did you mean double?"),
        ("anna,xyz,1,", "there is no exercise 'xyz'"),
        ("anna,double,1.5,", "double is worth 1, and 1.5 is more"),
        ("anna,double,-3,", "double is worth 1, and -3 is more"),
        ("anna,double,,", "there are neither points nor a comment"),
        ("anna,double,1,good, but slow", "'but slow' is under no column: a comment with commas in it stands between "
         "quotes"),
        (f"anna,double,1,{5001 * 'x'}", "the comment has 5,001 characters; at most 5,000 are taken"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(tmp_path: Path, lines: str, sentence: str) -> None:
    with pytest.raises(BadCorrections) as caught:
        corrections(tmp_path, HEADER + 'ben,double,1,"two\nlines"\n' + lines + "\n")
    assert str(caught.value) == f"{tmp_path / 'corrections.csv'} cannot be used as it is:\n  line 4: {ended(sentence)}"


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadCorrections) as caught:
        corrections(
            tmp_path, "folder,exercise,points,note,note\nanna,double,1,,\n,x,1,,\nanna,double,0,,\n" + 30 * ",,9,,\n"
        )
    told = str(caught.value).splitlines()
    assert told[1:4] == [
        "  line 1: there are two columns note.",
        "  line 3: there is no folder.",
        "  line 4: double of 'anna' is corrected in line 2 already.",
    ]
    assert (len(told), told[-1]) == (22, "  and 13 more mistakes.")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it has no column folder and no column exercise and no column points; it is empty, and "
         "folder,exercise,points is expected"),
        (HEADER + 'anna,double,1,"open\n', "line 2 is no line of a CSV file (unexpected end of data)"),
        (HEADER.encode() + b"Zo\xeb,double,1,\n", "is not text in UTF-8: save it as CSV UTF-8"),
    ],
)  # fmt: skip
def test_what_is_no_table(tmp_path: Path, content: str | bytes, why: str) -> None:
    with pytest.raises(BadCorrections) as caught:
        corrections(tmp_path, content)
    assert str(caught.value) == f"{tmp_path / 'corrections.csv'} cannot be used: {why}."


def test_a_program_cannot_make_one_that_is_no_number() -> None:
    with pytest.raises(ValueError, match="'two' is no number of points"):
        Correction("anna", "double", "two")


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20).map(str.strip)
NAMES = CELLS.filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["", "1", "0.25", "+0.5", "-1"]), NAMES, CELLS), max_size=6))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, ...]]) -> None:
    path = tmp_path_factory.mktemp("written") / "corrections.csv"
    made = Corrections(Correction(f, e, points, comment, (("by", by),)) for f, e, points, comment, by in cells)
    write(path, made)
    again = read(path)
    assert [(c.folder, c.exercise, c.points, c.comment, c.more) for c in again] == [
        (c.folder, c.exercise, c.points, c.comment, c.more) for c in made
    ]


def test_a_written_file_runs_nothing_and_keeps_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "corrections.csv"
    path.write_text('folder,exercise,by,points,comment\n=1+1,double,Ada,+0.5,"-- fine --\nreally"\n')
    found = read(path, WORTH)
    found.put(Correction("ben", "shifted", "1"))
    write(path, found)
    assert path.read_text() == (
        "folder,exercise,points,comment,by\n"
        "'=1+1,double,+0.5,\"'-- fine --\nreally\",Ada\n"
        "ben,shifted,1,,\n"
    )  # fmt: skip


def test_a_later_correction_takes_the_place_of_an_earlier_one() -> None:
    found = Corrections([Correction("Zo\u00eb", "double", "1"), Correction("ben", "double", "0")])
    found.put(Correction("Zo\u0065\u0308", "double", "0.5"))
    assert [c.points for c in found] == ["0.5", "0"]
    found.remove("Zo\u00eb", "double")
    assert [c.folder for c in found] == ["ben"]
    assert [c.folder for c in found.of_others(["anna"])] == ["ben"]


@pytest.mark.parametrize(
    ("points", "score", "expected"),
    [("1.5", 0.25, 1.5), ("0", 1, 0), ("+0.5", 0.25, 1.0), ("+2", 0.25, 2.0), ("-0.25", 0.25, 0.25), ("-2", 0.25, 0)],
)
def test_points_are_between_nothing_and_all(points: str, score: float, expected: float) -> None:
    scheme = Scheme(WORTH, Corrections([Correction("anna", "shifted", points, "Well.")]))
    marks = scheme.marks("anna", [("double", 1.0), ("shifted", score)])
    assert (marks["shifted"].verdict, marks["shifted"].points, marks.total) == (2 * score, expected, 1 + expected)
    before, after = f"{2 * score:g}", f"{expected:g}"
    assert marks["shifted"].told == (f"The check gave {before} of 2; a person corrected it to {after}.\nComment: Well.")
    assert marks["double"].told == ""


def test_a_comment_alone_changes_no_points() -> None:
    marks = Scheme(WORTH, Corrections([Correction("anna", "double", "", "Nice.")])).marks("anna", [("double", 0.5)])
    assert (marks.total, marks["double"].told) == (0.5, "Comment: Nice.")
