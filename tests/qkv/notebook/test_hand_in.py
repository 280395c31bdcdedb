"""Weights from the notebook to the gradebook: `hand_in`, `check`, the command line, a class."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from click.testing import CliRunner

import qkv
from proctor.examining import tensor_file
from proctor.marking import submissions
from proctor.report import lms
from qkv import exercises
from qkv.authoring.write.lint import lint_weights
from qkv.authoring.write.sample_answers import sample_weights
from qkv.commands import grading
from qkv.commands.cli import main
from qkv.commands.hand_in import write_hand_in as hand_in_files
from qkv.model.capstone import TinyGPT
from qkv.notebook import checking, progress, skipping
from qkv.notebook.status import Status

ANSWERS = Path(__file__).parents[3] / "answers"
(RIGHT,) = sample_weights(ANSWERS, "tiny_gpt", "right")
WRONG = {path.stem.partition("-")[2]: path for path in sample_weights(ANSWERS, "tiny_gpt", "wrong")}
NAME = "tiny_gpt.safetensors"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_hand_in_writes_what_the_contract_says(folder: Path) -> None:
    model = TinyGPT(27, 16, 4, 3, 40)
    said = qkv.hand_in(model)
    count = sum(p.numel() for p in model.parameters())
    assert str(said).startswith(f"Wrote {NAME}: {count:,} parameters, ")
    assert repr(said) == str(said)
    found = safetensors.torch.load_file(folder / NAME)
    assert found.keys() == model.state_dict().keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in model.state_dict().items())
    with safetensors.safe_open(folder / NAME, "pt") as file:
        assert file.metadata() == {"d_model": "16", "n_heads": "4", "n_layers": "3", "d_ff": "40"}
    assert [path.name for path in folder.iterdir()] == [NAME]


def test_check_reads_the_file_of_this_folder(folder: Path) -> None:
    result = checking.check("tiny_gpt")
    assert result.state == "not_started"
    assert f"There is no {NAME} in this folder. `hand_in(model)` writes it." in result.message
    qkv.hand_in(TinyGPT(27, 16, 4, 3, 40))
    assert checking.check("tiny_gpt").misconceptions == ("untrained",)
    shutil.copy(RIGHT, NAME)
    assert checking.check("tiny_gpt").state == "passed"


@pytest.mark.parametrize(
    ("handed", "why"),
    [
        (TinyGPT, "TinyGPT is the class"),
        ("a name", "this is a str"),
        (TinyGPT(27, 16, 4, 3, 40).state_dict(), "A state dict does not tell the number of heads"),
        (torch.nn.Linear(2, 2), "hand_in takes your trained TinyGPT"),
        (TinyGPT(27, 512, 4, 1, 1000), "MB are graded"),
    ],
)
def test_what_cannot_be_handed_in_is_said_in_a_sentence_and_by_the_next_check(
    handed: Any, why: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QKV_PROGRESS", str(folder / "progress.json"))
    shutil.copy(RIGHT, NAME)
    before = (folder / NAME).read_bytes()
    said = qkv.hand_in(handed)
    assert said.startswith("Nothing was written: ")
    assert why in said
    assert "an older one" in said
    assert (folder / NAME).read_bytes() == before
    message = checking.check("tiny_gpt").message
    assert "was written on" in message
    assert "The last hand_in wrote nothing" in message
    assert "Wrote" in qkv.hand_in(TinyGPT(27, 16, 4, 3, 40))
    assert "The last hand_in wrote nothing" not in checking.check("tiny_gpt").message


def test_a_state_dict_with_its_heads_is_enough(folder: Path) -> None:
    model = TinyGPT(27, 16, 4, 3, 40)
    qkv.hand_in(model)
    of_model = (folder / NAME).read_bytes()
    qkv.hand_in(model.state_dict(), n_heads=4)
    assert (folder / NAME).read_bytes() == of_model


def test_a_model_is_not_what_check_takes() -> None:
    with pytest.raises(TypeError, match="check takes the function or class itself"):
        checking.check(TinyGPT(27, 16, 4, 3, 40))


def test_progress_hints_skip_and_reset_know_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_PROGRESS", str(folder / "progress.json"))
    assert "skipped" in skipping.skip("tiny_gpt")
    assert dict(dict(Status.now().chapters)["capstone"])["tiny_gpt"] == "skipped"
    shutil.copy(WRONG["no_memory-one_layer"], NAME)
    assert checking.check("tiny_gpt").misconceptions == ("no_memory",)
    assert progress.load_progress()["mistakes"]["tiny_gpt"] == ["no_memory"]
    hints = [str(checking.hint("tiny_gpt", more=True)) for _ in range(5)]
    assert hints[0] in exercises.get("tiny_gpt").hints
    assert "The chapter trains weights that pass" in hints[3]
    assert skipping.reset("tiny_gpt") == f"hand_in(model)  # writes {NAME}"
    shutil.copy(RIGHT, NAME)
    result = checking.check("tiny_gpt")
    assert exercises.get("tiny_gpt").why in result.message


def test_it_is_the_last_exercise_and_of_no_code() -> None:
    assert exercises.names()[-1] == "tiny_gpt"
    assert "tiny_gpt" not in exercises.of_code()
    with pytest.raises(exercises.UnknownExercise, match="tiny_gpt is answered by weights, not by code"):
        exercises.get_code("tiny_gpt")


# ---- the command line


def test_the_command_checks_weights(folder: Path) -> None:
    shutil.copy(RIGHT, NAME)
    result = CliRunner().invoke(main, ["check", NAME])
    assert result.exit_code == 0, result.output
    assert "tiny_gpt: passed (3 of 3 checks pass)" in result.output
    shutil.copy(WRONG["targets_not_shifted"], NAME)
    result = CliRunner().invoke(main, ["check", str(folder)])
    assert result.exit_code == 1
    assert "These weights repeat the word that they are given" in result.output


def test_the_command_says_what_it_does_not_look_at(folder: Path) -> None:
    shutil.copy(RIGHT, "model.safetensors")
    result = CliRunner().invoke(main, ["check", "model.safetensors"])
    assert result.exit_code == 1
    assert f"model.safetensors was not looked at: weights are handed in as {NAME}." in result.output


def test_the_archive_to_hand_in_holds_weights(folder: Path) -> None:
    shutil.copy(RIGHT, NAME)
    shutil.copy(RIGHT, "other.safetensors")
    said: list[str] = []
    assert hand_in_files([folder / NAME, folder / "other.safetensors"], folder / "alice.zip", said.append) == 0
    assert "On fresh inputs, as they are graded: 1 passed." in said
    assert zipfile.ZipFile("alice.zip").namelist() == [NAME]
    shutil.copy(WRONG["no_memory-one_layer"], NAME)
    assert hand_in_files([folder / NAME], folder / "bob.zip", said.append) == 1


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class that hands in weights, and one exercise of code beside them."""
    room = tmp_path_factory.mktemp("class")
    handed_in = {
        "ada": RIGHT.read_bytes(),
        "ben": WRONG["no_memory-one_layer"].read_bytes(),
        "cleo": b"\x80\x04\x95" + bytes(100),
    }
    for student, content in handed_in.items():
        (room / student).mkdir()
        (room / student / NAME).write_bytes(content)
    (room / "ada" / "work.py").write_text("def softmax(scores, dim):\n    return scores\n")
    (room / "dan").mkdir()
    (room / "dan" / "work.py").write_text("x = 1\n")
    with zipfile.ZipFile(room / "eva.zip", "w") as archive:
        archive.write(RIGHT, f"notebooks/{NAME}")
    out = room.parent / "out"
    words = ["grade", str(room), "--out", str(out), "--seed", "4", "--jobs", "1", "--exercises", "softmax,tiny_gpt"]
    done = subprocess.run([sys.executable, "-m", "qkv", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_a_class_is_graded(graded: Path) -> None:
    rows = [json.loads(line) for line in (graded / "results.jsonl").read_text("utf-8").splitlines()]
    found = {row["student"]: row for row in rows if row["exercise"] == "tiny_gpt"}
    assert {student: (row["state"], row["misconception"]) for student, row in found.items()} == {
        "ada": ("passed", None),
        "ben": ("not_yet", "no_memory"),
        "cleo": ("stopped", None),
        "dan": ("not_started", None),
        "eva": ("passed", None),
    }
    assert (graded / "grades.csv").read_text("utf-8").splitlines()[1] == "ada,0,3,3"
    assert "do not remember what this ledger said" in (graded / "summary.html").read_text("utf-8")
    assert "●" in (graded / "feedback" / "ben.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("kind", lms.FORMATS)
def test_what_was_earned_reaches_the_lms(graded: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / ("out.zip" if kind == "gradescope" else "out.csv")
    assert grading.export_class(graded, kind, out) == 0
    if kind == "gradescope":
        with zipfile.ZipFile(out) as archive:
            assert b"tiny_gpt" in b"".join(archive.read(name) for name in archive.namelist() if "ada" in name)
    else:
        assert "tiny_gpt" in out.read_text("utf-8")


# ---- the authors' gate


def test_lint_proves_it(tmp_path: Path) -> None:
    finding = lint_weights(exercises.get_weights("tiny_gpt"), salts=1)
    assert finding.complaints == []


def test_lint_complains_of_what_is_not_proved(tmp_path: Path) -> None:
    exercise = exercises.get_weights("tiny_gpt")
    assert any("no right weights are kept" in text for text in lint_weights(exercise, 1, tmp_path).complaints)
    for kind in ("right", "wrong"):
        (tmp_path / "capstone" / kind).mkdir(parents=True)
    shutil.copy(RIGHT, tmp_path / "capstone" / "right")
    shutil.copy(WRONG["no_memory-one_layer"], tmp_path / "capstone" / "wrong" / "tiny_gpt-learned_by_heart.safetensors")
    told = "\n".join(lint_weights(exercise, 1, tmp_path).complaints)
    assert "tiny_gpt-learned_by_heart.safetensors is told no_memory, expected learned_by_heart" in told
    assert "nothing shows no_memory" in told


def test_a_file_is_as_large_for_whoever_takes_it_in_as_for_whoever_reads_it() -> None:
    """`submissions` may not load torch, which `tensor_file` needs, so that the number stands in both."""
    assert submissions.LARGEST[submissions.WEIGHTS] == tensor_file.LARGEST
