"""Exports have the form that Gradescope, Canvas and Moodle document."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import tomllib
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import pytest

from proctor.points.corrections import Correction, Corrections
from proctor.points.scheme import Scheme
from proctor.report.lms import CannotExport, export_results
from proctor.report.lms.autograder import autograder
from proctor.tables import spreadsheet_text

POINTS = {"double": 1.0, "shifted": 2.0}
ROWS = [
    ("anna", "double", "passed", 1.0, None, "double: passed"),
    ("anna", "shifted", "not_yet", 0.333333, "tripled", 'shifted: not yet\nYou triple x, "twice".'),
    ("陈 伟", "double", "not_started", 0.0, None, "double: not started"),
    ("陈 伟", "shifted", "stopped", 0.0, None, "shifted: stopped"),
]


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    with (tmp_path / "results.jsonl").open("w", encoding="utf-8") as file:
        for name, exercise, state, score, misconception, message in ROWS:
            row = {"student": name, "exercise": exercise, "state": state, "score": score, "probes_passed": 1}
            row |= {"probes": 3, "misconception": misconception, "message": message, "seconds": 2}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return tmp_path


def table(path: Path) -> list[list[str]]:
    return list(csv.reader(path.open(encoding="utf-8", newline="")))


def test_canvas(graded: Path) -> None:
    export_results(graded, "canvas", graded / "canvas.csv", POINTS, "qkv")
    header, possible, *students = table(graded / "canvas.csv")
    assert header == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "double", "shifted"]
    assert possible == ["    Points Possible", "", "", "", "", "1", "2"]
    assert students == [["anna", "", "", "anna", "", "1", "0.6667"], ["陈 伟", "", "", "陈 伟", "", "0", "0"]]


def test_moodle_grades_are_numbers(graded: Path) -> None:
    export_results(graded, "moodle", graded / "moodle.csv", POINTS, "qkv")
    header, *students = table(graded / "moodle.csv")
    assert header == ["username", "double", "shifted", "total", "feedback"]
    assert [float(cell) for row in students for cell in row[1:4]] == [1, 0.6667, 1.6667, 0, 0, 0]
    assert students[0][4] == 'shifted: not yet\nYou triple x, "twice".'
    assert students[1][4] == "shifted: stopped"


def test_a_plain_table(graded: Path) -> None:
    export_results(graded, "csv", graded / "plain.csv", POINTS, "qkv")
    assert table(graded / "plain.csv") == [
        ["student", "double", "shifted", "total"],
        ["anna", "1", "0.6667", "1.6667"],
        ["陈 伟", "0", "0", "0"],
    ]


TOP = {"score", "execution_time", "output", "visibility", "stdout_visibility", "extra_data", "tests", "leaderboard"}
TEST = {"score", "max_score", "status", "name", "number", "output", "tags", "visibility", "extra_data"}
VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}


def check_results(results: dict[str, Any]) -> None:
    assert set(results) <= TOP
    assert results["visibility"] in VISIBILITY
    assert results["stdout_visibility"] in VISIBILITY
    assert results["score"] == pytest.approx(sum(test["score"] for test in results["tests"]))
    for test in results["tests"]:
        assert set(test) <= TEST
        assert 0 <= test["score"] <= test["max_score"]
        assert test["status"] in ("passed", "failed")
        assert isinstance(test["output"], str)


def test_gradescope_results_per_student(graded: Path) -> None:
    export_results(graded, "gradescope", graded / "class.zip", POINTS, "qkv")
    with zipfile.ZipFile(graded / "class.zip") as archive:
        assert archive.namelist() == ["anna/results.json", "陈 伟/results.json", "autograder.zip"]
        anna = json.loads(archive.read("anna/results.json"))
        check_results(anna)
        check_results(json.loads(archive.read("陈 伟/results.json")))
    assert (anna["score"], anna["execution_time"]) == (1.6667, 4)
    assert [test["status"] for test in anna["tests"]] == ["passed", "failed"]
    assert anna["tests"][1]["output"].startswith("shifted: not yet\nYou triple x")


def test_the_archive_unpacks_on_every_system(graded: Path, tmp_path: Path) -> None:
    """Whatever students are called: like the autograder, like each other but for capitals or the way in which letters
    are put together, or as no file may be called somewhere."""
    names = ["autograder.zip", "Ann", "ann", "Jose\u0301", "Jos\u00e9", "a:b", "dot.", "…" * 80]
    row = json.loads((graded / "results.jsonl").read_text("utf-8").splitlines()[0])
    (graded / "results.jsonl").write_text(
        "".join(json.dumps({**row, "student": name}) + "\n" for name in names), encoding="utf-8"
    )
    export_results(graded, "gradescope", graded / "class.zip", POINTS, "qkv")
    with zipfile.ZipFile(graded / "class.zip") as archive:
        entries = archive.namelist()
        archive.extractall(tmp_path / "unpacked")
    assert entries[-1] == "autograder.zip"
    assert entries[1] == "Ann/results.json"
    assert all(re.fullmatch(r'[^/\\:*?"<>|]+[^/. ]/results\.json', entry) for entry in entries[:-1])
    assert len({unicodedata.normalize("NFC", entry).casefold() for entry in entries}) == len(names) + 1
    assert len(list((tmp_path / "unpacked").glob("*/results.json"))) == len(names)


def test_gradescope_autograder(graded: Path, root: Path) -> None:
    export_results(graded, "gradescope", graded / "class.zip", POINTS, "qkv")
    with zipfile.ZipFile(graded / "class.zip") as archive:
        inner = zipfile.ZipFile(io.BytesIO(archive.read("autograder.zip")))
    names = set(inner.namelist())
    assert {"setup.sh", "run_autograder", "qkv/commands/cli.py", "qkv/__main__.py", "proctor/grading/grade.py"} <= names
    assert {"proctor/report/templates/feedback.html", "qkv/model/lookup.py"} <= names
    assert not any("__pycache__" in name for name in names)
    for script in ("setup.sh", "run_autograder"):
        assert inner.getinfo(script).external_attr >> 16 & 0o111
        text = inner.read(script).decode()
        assert text.startswith("#!/usr/bin/env bash\n")
        assert subprocess.run(["bash", "-n"], input=text, text=True).returncode == 0
    assert '"--exercises", "double,shifted"' in inner.read("run_autograder").decode()
    installed = re.findall(r"([\w.-]+)==", inner.read("setup.sh").decode())
    declared = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert installed == [re.split(r"[<>=]", line)[0] for line in declared], (
        "one list, without extras; `make` installs it"
    )


RIGHT = "def split_heads(x, n_heads):\n    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n"


def test_gradescope_autograder_runs(tmp_path: Path) -> None:
    """Its script, with another folder in the place of the one that Gradescope has at the root."""
    place = tmp_path / "autograder"
    (place / "submission").mkdir(parents=True)
    (place / "submission" / "answers.py").write_text(RIGHT)
    for module in (
        "torch",
        "json",
        "runpy",
        "qkv",
    ):  # never taken for the real ones
        (place / "submission" / f"{module}.py").write_text("raise SystemExit('code of a student ran as the grader')\n")
    (place / "venv" / "bin").mkdir(parents=True)
    python = place / "venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    with zipfile.ZipFile(io.BytesIO(autograder("qkv", ["split_heads", "merge_heads"]))) as archive:
        archive.extractall(place / "source")
    script = (place / "source" / "run_autograder").read_text("utf-8").replace("/autograder", str(place))
    ended = subprocess.run(["bash", "-c", script], cwd=place / "submission", capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    results = json.loads((place / "results" / "results.json").read_text("utf-8"))
    assert {test["name"]: test["score"] for test in results["tests"]} == {"split_heads": 1.0, "merge_heads": 0.0}


def test_gradescope_results_of_a_class_of_one(graded: Path) -> None:
    lines = (graded / "results.jsonl").read_text("utf-8").splitlines(keepends=True)
    (graded / "results.jsonl").write_text("".join(lines[:2]), encoding="utf-8")
    export_results(graded, "gradescope", graded / "there" / "results.json", POINTS, "qkv")
    check_results(json.loads((graded / "there" / "results.json").read_text("utf-8")))


def test_exports_do_not_depend_on_the_hour(graded: Path) -> None:
    for kind in ("gradescope", "canvas", "moodle", "csv"):
        for name in ("a", "b"):
            export_results(graded, kind, graded / f"{name}.{kind}", POINTS, "qkv")
        assert (graded / f"a.{kind}").read_bytes() == (graded / f"b.{kind}").read_bytes()


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "'=1", "''+1"])
def test_a_name_that_a_spreadsheet_would_run_is_words(name: str) -> None:
    assert spreadsheet_text(name) == f"'{name}"


@pytest.mark.parametrize("name", ["anna", "'t Hart", "O'Neil", "陈 伟", "a=1", "", "'", "1"])
def test_other_names_stay_as_they_are(name: str) -> None:
    assert spreadsheet_text(name) == name


@pytest.mark.parametrize(("kind", "columns"), [("canvas", (0, 3)), ("moodle", (0,)), ("csv", (0,))])
def test_no_table_has_a_formula(graded: Path, kind: str, columns: tuple[int, ...]) -> None:
    text = (graded / "results.jsonl").read_text("utf-8").replace('"anna"', '"=HYPERLINK(1)"')
    (graded / "results.jsonl").write_text(text, encoding="utf-8")
    export_results(graded, kind, graded / "table.csv", POINTS, "qkv")
    rows = table(graded / "table.csv")
    assert [row[0] for row in rows if "HYPERLINK" in row[0]] == ["'=HYPERLINK(1)"]
    assert [row[column] for row in rows for column in columns if row[column].startswith("=")] == []
    assert "0.6667" in str(rows)  # numbers stay numbers


def test_one_results_json_is_for_one_student(graded: Path) -> None:
    with pytest.raises(CannotExport) as caught:
        export_results(graded, "gradescope", graded / "results.json", POINTS, "qkv")
    assert str(caught.value) == ("results.json holds one student, and this class has 2: name a .zip for all of them.")
    assert not (graded / "results.json").exists()


@pytest.mark.parametrize("line", ["{", "[]", '{"student": "a"}', '{"student": "a", "exercise": "b", "score": "c"}'])
def test_damaged_results_are_said_to_be(graded: Path, line: str) -> None:
    (graded / "c.csv").write_text("from before")
    with (graded / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(CannotExport, match=r"results.jsonl is damaged \(.*\)\. Grade again to write it anew\.$"):
        export_results(graded, "csv", graded / "c.csv", POINTS, "qkv")
    assert sorted(path.name for path in graded.iterdir()) == ["c.csv", "results.jsonl"]
    assert (graded / "c.csv").read_text() == "from before"


# ---- corrections by a person


@pytest.fixture
def corrected() -> Corrections:
    return Corrections(
        [Correction("anna", "shifted", "+1", "Well argued."), Correction("陈 伟", "double", "", "Come and see me.")]
    )


def test_corrected_points_are_exported(graded: Path, corrected: Corrections) -> None:
    for kind in ("canvas", "moodle", "csv"):
        assert export_results(graded, kind, graded / kind, POINTS, "qkv", scheme=Scheme(POINTS, corrected)) == []
    assert table(graded / "canvas")[2][-2:] == ["1", "1.6667"]
    assert table(graded / "csv")[1] == ["anna", "1", "1.6667", "2.6667"]
    anna, chen = table(graded / "moodle")[1:]
    assert anna[1:4] == ["1", "1.6667", "2.6667"]
    assert anna[4] == (
        'shifted: not yet\nYou triple x, "twice".\n'
        "The check gave 0.6667 of 2; a person corrected it to 1.6667.\nComment: Well argued."
    )
    assert chen[1:] == [
        "0",
        "0",
        "0",
        "double: not started\nComment: Come and see me.\n\nshifted: stopped",
    ]


def test_gradescope_shows_a_correction_beside_the_verdict(graded: Path, corrected: Corrections) -> None:
    export_results(graded, "gradescope", graded / "class.zip", POINTS, "qkv", scheme=Scheme(POINTS, corrected))
    with zipfile.ZipFile(graded / "class.zip") as archive:
        anna = json.loads(archive.read("anna/results.json"))
    check_results(anna)
    assert (anna["score"], anna["tests"][1]["score"], anna["tests"][1]["status"]) == (2.6667, 1.6667, "failed")
    assert anna["tests"][1]["output"].endswith("Comment: Well argued.")


def test_a_correction_of_nobody_is_named(graded: Path) -> None:
    corrected = Corrections([Correction("bert", name, "1") for name in POINTS])
    said = export_results(graded, "csv", graded / "plain.csv", POINTS, "qkv", scheme=Scheme(POINTS, corrected))
    assert said == ["Corrected, but not in the results: bert."]
