"""`qkv grade` with a policy beside the class: late points, groups, times, and a mistake that stops nothing half-way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from qkv.commands.cli import main

RIGHT = """
def softmax(x, dim):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)
"""
POLICY = """
pass_mark = 3
[points]
softmax = 4
[due]
lookup = 2026-11-10T23:59:00Z
[late]
factors = [0.5]
[extensions]
zoe = "2 days"
[groups]
red = ["ben", "cara"]
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, time in (("anna", "2026-11-10 20:00:00 UTC"), ("ben", "2026-11-11 09:00:00 UTC")):
        (tmp_path / "class" / name / "ps1").mkdir(parents=True)
        (tmp_path / "class" / name / "ps1" / "p.py").write_text(RIGHT)
        (tmp_path / "class" / name / "ps1" / "timestamp.txt").write_text(time)
    (tmp_path / "course.toml").write_text(POLICY)
    return tmp_path


def run(place: Path, *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(main, [word.replace("PLACE", str(place)) for word in words])
    assert done.exit_code == code, done.output
    return done.output


GRADE = ("grade", "PLACE/class", "--out", "PLACE/results", "--exercises", "softmax", "--jobs", "1")


def test_a_class_with_a_policy(place: Path) -> None:
    said = run(place, *GRADE)
    assert "Group red: what ben handed in counts for cara too." in said
    assert "In course.toml, but without a submission: zoe." in said
    rows = (place / "results" / "grades.csv").read_text().splitlines()
    assert rows == ["student,softmax,total", "anna,4,4", "ben,2,2", "cara,2,2"]
    page = (place / "results" / "feedback" / "cara.html").read_text()
    assert "Handed in 2026-11-11 09:00 UTC, due 2026-11-10 23:59 UTC: 1 day late, so 4 × 0.5 = 2." in page
    assert "To pass: 3 points are needed." in page
    summary = (place / "results" / "summary.html").read_text()
    assert "<strong>1</strong><span>student reaches the pass mark" in summary
    assert "<strong>2</strong><span>lost points by being late" in summary
    (place / "results" / "times.csv").write_text("folder,time\nben,2026-11-10T12:00:00Z\n")
    run(place, "export", "PLACE/results", "--format", "csv", "--out", "PLACE/plain.csv")
    assert (place / "plain.csv").read_text().splitlines()[1:] == ["anna,4,4", "ben,4,4", "cara,4,4"]


def test_a_mistake_in_the_policy_is_told_before_anything_is_marked(place: Path) -> None:
    (place / "course.toml").write_text("[points]\nsoftmaxx = 1\n")
    said = run(place, *GRADE, code=2)
    assert "course.toml cannot be used as it is:" in said
    assert "line 2: there is no exercise and no chapter 'softmaxx'; did you mean softmax?" in said
    assert not (place / "results" / "results.jsonl").exists()


def test_points_of_one_exercise_import_no_other(place: Path) -> None:
    """`import torch` is most of what grading one upload takes; all exercises would be a third of that again."""
    script = (
        "import sys; from pathlib import Path; from qkv.commands.scheme import read_scheme;"
        f"print(read_scheme(Path({str(place)!r})).worth('softmax'));"
        "print(*[name for name in sys.modules if name.startswith('qkv.exercises.') and name.count('.') > 2])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    points, modules = shown.splitlines()
    assert points == "4.0"
    assert set(modules.split()) <= {"qkv.exercises.lookup.softmax", "qkv.exercises.lookup.shared"}


def test_two_spellings_of_a_name_stay_two_students_whatever_the_groups(place: Path) -> None:
    for name in ("Zo\u00eb", "Zoe\u0308"):
        (place / "class" / f"{name}.py").write_text(RIGHT)
    run(place, *GRADE, "--form", "folders")
    rows = (place / "results" / "grades.csv").read_text("utf-8").splitlines()
    assert sorted(row.split(",")[0] for row in rows[1:]) == sorted(["anna", "ben", "cara", "Zo\u00eb", "Zoe\u0308"])
