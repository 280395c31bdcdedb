"""`qkv grade` on what an LMS hands out: what it says, and that ids come back with the grades."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from click.testing import CliRunner

from qkv.commands.cli import main
from qkv.commands.collecting import UNPACKED, unpacking_in

RIGHT = """
def softmax(x, dim):
    powers = (x - x.amax(dim, keepdim=True)).exp()
    return powers / powers.sum(dim, keepdim=True)
"""


def grade(place: Path, *more: str) -> str:
    words = [
        "grade",
        str(place),
        "--out",
        str(place.parent / "results"),
        "--exercises",
        "softmax",
        "--jobs",
        "1",
        *more,
    ]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return done.output


def test_from_canvas_and_back(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:
        archive.writestr("ahlanna_1041_5001_softmax.py", "def softmax(x): return x\n")
        archive.writestr("ahlanna_1041_5003_softmax-1.py", RIGHT)
        archive.writestr("boben_LATE_1042_5002_softmax.py", RIGHT)
        archive.writestr("from_cy.py", RIGHT)
    said = grade(tmp_path / "submissions.zip")
    for line in (
        "Recognised: Canvas's download, 2 students.",
        "  ahlanna_1041 (ahlanna, 1041): softmax-1.py",
        "  boben_1042 (boben, 1042): softmax.py, late",
        "ahlanna_1041: ahlanna_1041_5003_softmax-1.py counts, the newest; not ahlanna_1041_5001_softmax.py.",
        "Not graded, since it is not clear whose it is: from_cy.py.",
    ):
        assert line in said.splitlines()
    assert "2 students, 1 of 1 points on average." in said
    assert not list((tmp_path / "results").glob(f"{UNPACKED}*"))
    done = CliRunner().invoke(
        main, ["export", str(tmp_path / "results"), "--format", "canvas", "--out", str(tmp_path / "canvas.csv")]
    )
    assert done.exit_code == 0, done.output
    rows = (tmp_path / "canvas.csv").read_text("utf-8").splitlines()
    assert rows[2:] == ["ahlanna,1041,,,,1", "boben,1042,,,,1"]


def test_a_file_that_is_no_class(tmp_path: Path) -> None:
    (tmp_path / "class.zip").write_bytes(b"x")
    done = CliRunner().invoke(main, ["grade", str(tmp_path / "class.zip"), "--out", str(tmp_path / "results")])
    assert done.exit_code == 2
    assert "is not a zip file that can be read. Download it again." in done.output


def test_what_a_killed_run_unpacked_is_removed_and_what_a_living_one_did_is_not(tmp_path: Path) -> None:
    for number in (2**22 + 1, os.getppid()):  # the first is above what Linux gives to a process
        (tmp_path / f"{UNPACKED}{number}").mkdir()
    with unpacking_in(tmp_path) as place:
        assert place.is_dir()
        assert {p.name for p in tmp_path.iterdir()} == {place.name, f"{UNPACKED}{os.getppid()}"}
    assert not place.exists()
