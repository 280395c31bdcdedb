"""The guide "The instructor's evening" is run as it stands, for the downloads of five systems."""

from __future__ import annotations

import csv
import importlib.util
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from proctor.collecting.forms import FORMS

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "book" / "guides" / "evening.md").read_text("utf-8")
ANYTHING = "…"
RIGHT = """
def softmax(x, dim):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)


def similarity_scores(q, k):
    return q @ k.transpose(-2, -1)
"""


def load_downloads() -> Any:
    path = ROOT / "tests" / "proctor" / "collecting" / "downloads.py"
    spec = importlib.util.spec_from_file_location("downloads", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("downloads", module)
    spec.loader.exec_module(module)
    return module


downloads = load_downloads()
NO_SOFTMAX = RIGHT.replace("powers / powers.sum(dim, keepdim=True)", "powers")
PEOPLE = [
    downloads.Person("Anna Ahl", "1041", "aahl", {"week1.py": RIGHT}),
    downloads.Person("Ben Bo", "1042", "bbo", {"week1.py": ["def softmax(", NO_SOFTMAX]}),
    downloads.Person("Cara Cy", "1043", "ccy", {"week1.py": NO_SOFTMAX}),
]


def fences(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE, flags=re.M | re.S)


def run(place: Path, transcript: str, form: str) -> None:
    """Run a command of the guide, and compare what it prints, line by line, in order."""
    command, *shown = transcript.splitlines()
    words = [sys.executable, "-m", "qkv", *shlex.split(command)[2:]]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = iter([*done.stderr.splitlines(), *done.stdout.splitlines()])
    for line in shown:
        wanted = line.replace(FORMS["canvas"].title, FORMS[form].title)
        assert line == ANYTHING or any(wanted == other for other in printed), (wanted, done.stderr, done.stdout)


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(path.open(encoding="utf-8", newline="")))


@pytest.mark.slow
@pytest.mark.parametrize("form", downloads.ALL)
def test_from_the_zip_file_to_what_is_released(tmp_path: Path, form: str) -> None:
    roster, corrections = fences("text")
    (policy,) = fences("toml")
    grade, release = fences("console")
    downloads.as_zip(downloads.ALL[form](PEOPLE), tmp_path / "submissions.zip")
    (tmp_path / "roster.csv").write_text(roster)
    (tmp_path / "course.toml").write_text(policy)
    run(tmp_path, grade, form)
    (tmp_path / "results" / "corrections.csv").write_text(corrections)
    run(tmp_path, release, form)
    out = tmp_path / "released"
    assert rows(out / "grades.csv")[1:] == [
        ["anna", "1041", "Anna Ahl", "4", "2", "6"],
        ["ben", "1042", "Ben Bo", "1", "2", "3"],
        ["cara", "1043", "Cara Cy", "0", "2", "2"],
    ]
    assert [row[1] for row in rows(out / "canvas.csv")[2:]] == ["1041", "1042", "1043"]
    assert [row[0] for row in rows(out / "moodle.csv")[1:]] == ["1041", "1042", "1043"]
    page = (out / "feedback" / "ben.html").read_text("utf-8")
    assert "The check gave 0 of 4; a person corrected it to 1." in page
    assert "Nearly: the exponentials are right." in page
    archives = {path.name: zipfile.ZipFile(path).namelist() for path in out.glob("*.zip")}
    assert archives == {
        "canvas": {"canvas-feedback.zip": [f"{n}_feedback.html" for n in ("annaahl_1041_5001", "benbo_1042_5003",
                                                                         "caracy_1043_5004")]},
        "moodle": {"moodle-feedback.zip": [f"{n}_assignsubmission_file_/feedback.html"
                                           for n in ("Anna Ahl_12345", "Ben Bo_12346", "Cara Cy_12347")]},
    }.get(form, {})  # fmt: skip


def test_the_guide_speaks_of_every_form() -> None:
    for name in ("Canvas", "Moodle", "Gradescope", "nbgrader", "GitHub Classroom"):
        assert len(re.findall(rf"^\| .*{name}", GUIDE, flags=re.M)) >= 2, name
    assert len(downloads.ALL) == len(FORMS) - 1  # all but the one for a folder per student
