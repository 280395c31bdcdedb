"""`qkv hand-in`: what it checks is what is graded, and the file that it writes is one that the grader takes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from proctor.marking.extraction import extract_all
from proctor.marking.submissions import collect
from qkv.commands.cli import main
from qkv.commands.hand_in import answers_beside, write_hand_in
from qkv.notebook.workspace import of_folder

RIGHT = """import torch
def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""
WRONG = "def similarity_scores(q, k):\n    return q @ k.transpose(-1, -2) * 2\n"
STUB = "def softmax(scores, dim):\n    raise NotImplementedError\n"


def notebook(path: Path, *cells: str) -> Path:
    found = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    path.write_text(json.dumps({"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return []


def test_one_file_that_the_grader_reads(tmp_path: Path, said: list[str]) -> None:
    files = [notebook(tmp_path / "a.ipynb", RIGHT), notebook(tmp_path / "b.ipynb", STUB)]
    (tmp_path / "class").mkdir()
    assert write_hand_in(files, tmp_path / "class" / "alice.zip", said.append) == 0
    assert said[-2:] == [
        "On fresh inputs, as they are graded: 1 passed.",
        f"Wrote {tmp_path / 'class' / 'alice.zip'} with a.ipynb. Hand in this one file.",
    ]
    (submission,) = collect(tmp_path / "class").submissions
    (source,) = extract_all(submission.load())
    assert submission.student == "alice"
    assert [sorted(d.binds) for d in source.definitions] == [["torch"], ["softmax"]]


def test_unfinished_work_is_told_and_written(tmp_path: Path, said: list[str]) -> None:
    files = [notebook(tmp_path / "a.ipynb", RIGHT, WRONG, "def soft_lookup(")]
    assert write_hand_in(files, None, said.append) == 1
    told = "\n".join(said)
    assert "softmax: passed" in told
    assert "similarity_scores: not yet" in told
    assert "checks pass)\ncell 3 of a.ipynb has a syntax error" in told
    assert "1 passed, 1 not yet, 1 stopped." in told
    (archive,) = tmp_path.glob("hand-in-*.zip")
    assert zipfile.ZipFile(archive).namelist() == ["a.ipynb"]


def test_which_hints_were_taken_stays_on_the_students_machine(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    taken = CliRunner().invoke(main, ["hint", "softmax"]).output.strip()
    assert taken in (tmp_path / "progress.json").read_text()
    write_hand_in([notebook(tmp_path / "a.ipynb", RIGHT)], tmp_path / "alice.zip", said.append)
    with zipfile.ZipFile(tmp_path / "alice.zip") as archive:
        assert archive.namelist() == ["a.ipynb"]
        assert taken.encode() not in archive.read("a.ipynb")


def test_files_of_stubs_that_were_filled_in_are_taken_along(tmp_path: Path, said: list[str]) -> None:
    place = of_folder(tmp_path)
    known = [tmp_path / "notebooks" / "taken.py"]
    for name, text in (("01_lookup", RIGHT), ("taken", RIGHT), ("05_masks", STUB), ("review_2026-11-19", RIGHT)):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "setup.py").write_text("print('of another project')\n")
    assert answers_beside(place, known, tmp_path) == [tmp_path / "01_lookup.py"]
    assert answers_beside(place, known, tmp_path.parent) == [], "outside of the course nothing is taken unasked"
    assert write_hand_in([notebook(tmp_path / "a.ipynb", WRONG), tmp_path / "01_lookup.py"], None, said.append) == 1
    assert said[-1].endswith("with a.ipynb, 01_lookup.py. Hand in this one file.")


def test_nothing_to_hand_in(tmp_path: Path, said: list[str]) -> None:
    assert write_hand_in([notebook(tmp_path / "a.ipynb", STUB)], None, said.append) == 1
    assert said == ["There is nothing to hand in yet: no file has an answer to an exercise."]
    assert not list(tmp_path.glob("*.zip"))


def test_a_table_of_the_notebooks_numbers_does_not_pass(tmp_path: Path, said: list[str]) -> None:
    """Inputs are fresh each time: an answer that knows the notebook's own would be told before it is handed in."""
    salts = []

    class Remembered:
        def __init__(self, exercise: object, salt: str) -> None:
            salts.append(salt)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("qkv.commands.hand_in.Examiner", Remembered)
        patch.setattr("qkv.commands.hand_in.judged_in_process", lambda *args: [])
        for _ in range(2):
            write_hand_in([notebook(tmp_path / "a.ipynb", RIGHT)], None, said.append)
    assert len(set(salts)) == 2
    assert all(len(salt) == 16 for salt in salts)


def test_another_name_than_zip_is_refused(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", RIGHT)
    result = CliRunner().invoke(main, ["hand-in", str(path), "--out", "a.txt"])
    assert result.exit_code == 2
    assert "does not end in .zip" in result.output
