"""Corrections by a person, from the command line: they survive regrading, and a mistake in their file stops nothing
half-way."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from qkv.commands.cli import main

HALF = "import torch\n\n\ndef softmax(x, dim=-1):\n    return 2 * torch.exp(x) / torch.exp(x).sum(dim, keepdim=True)\n"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of two that was graded."""
    place = tmp_path_factory.mktemp("place")
    (place / "class").mkdir()
    for name in ("anna", "ben"):
        (place / "class" / f"{name}.py").write_text(HALF)
    assert grade(place) == ""
    return place


@pytest.fixture
def graded(once: Path, tmp_path: Path) -> Path:
    return shutil.copytree(once, tmp_path / "place")


def grade(place: Path, expected: int = 0) -> str:
    """Grade, and return what was said of corrections."""
    words = [place / "class", "--out", place / "results", "--exercises", "softmax", "--jobs", "1"]
    done = CliRunner().invoke(main, ["grade", *map(str, words)])
    assert done.exit_code == expected, done.output
    return "\n".join(line for line in done.output.splitlines() if "Corrected" in line or line.startswith("  line "))


def grades(place: Path) -> list[str]:
    return (place / "results" / "grades.csv").read_text().splitlines()[1:]


def test_corrections_survive_regrading_and_are_exported(graded: Path) -> None:
    assert grades(graded) == ["anna,0,0", "ben,0,0"]
    corrections = graded / "results" / "corrections.csv"
    corrections.write_text("folder,exercise,points,comment\nanna,softmax,+0.5,The idea is right.\nzoe,softmax,1,\n")
    before = corrections.read_bytes()
    for _ in range(2):
        assert grade(graded) == "Corrected, but not in the results: zoe."
        assert grades(graded) == ["anna,0.5,0.5", "ben,0,0"]
    assert corrections.read_bytes() == before
    assert "The idea is right." in (graded / "results" / "feedback" / "anna.html").read_text()
    assert "The idea is right." in (graded / "results" / "summary.html").read_text()
    with (graded / "results" / "results.jsonl").open() as file:
        assert [row["score"] for row in map(json.loads, file)] == [0.0, 0.0]
    exported = graded / "canvas.csv"
    done = CliRunner().invoke(main, ["export", str(graded / "results"), "--format", "canvas", "--out", str(exported)])
    assert done.exit_code == 0, done.output
    assert exported.read_text().splitlines()[2] == "anna,,,anna,,0.5"


def test_a_mistake_in_the_file_is_told_before_anything_is_marked(graded: Path) -> None:
    (graded / "results" / "corrections.csv").write_text("folder,exercise,points\nanna,softmaxx,1\nben,softmax,two\n")
    before = (graded / "results" / "results.jsonl").read_bytes()
    assert "line 2: there is no exercise 'softmaxx'; did you mean softmax?" in (said := grade(graded, expected=2))
    assert "line 3: 'two' is no number of points" in said
    assert (graded / "results" / "results.jsonl").read_bytes() == before
    assert not (graded / "results" / "earlier").exists()
