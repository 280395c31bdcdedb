"""Weights in a submission: which file counts, what becomes of the others, and that a class is graded by them."""

from __future__ import annotations

import importlib.util
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from proctor.examining.weights import WeightsJudge
from proctor.grading.engines.local import Local
from proctor.grading.grade import grade_class, salt_of
from proctor.grading.worker import Plan
from proctor.marking.submissions import File, Submission, collect
from proctor.marking.weights_files import judge_weights, unasked_weights
from proctor.sandbox import Limits

spec = importlib.util.spec_from_file_location("sample_weights", Path(__file__).parents[1] / "sample_weights.py")
assert spec is not None
assert spec.loader is not None
sample = sys.modules["sample_weights"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sample)


@pytest.fixture
def weights_judge() -> WeightsJudge:
    return WeightsJudge(sample.line, "marking")


def test_the_best_file_of_the_name_counts(weights_judge: WeightsJudge) -> None:
    right, wrong = sample.file(), sample.file(slope=-3.0)
    files = [File("a/line.safetensors", wrong), File("b/line.safetensors", right), File("c/other.safetensors", wrong)]
    for order in (files, files[::-1]):
        result = judge_weights(weights_judge, order)
        assert result.state == "passed"
        assert result.remarks[-1] == (
            "Taken from b/line.safetensors; it is also answered in a/line.safetensors, which would earn 0%."
        )
    assert judge_weights(weights_judge, files[:1]).misconceptions == ("upside_down",)


def test_nothing_handed_in_is_not_started(weights_judge: WeightsJudge) -> None:
    result = judge_weights(weights_judge, [File("work.py", b"line = 3")])
    assert (result.state, result.score, result.probes) == ("not_started", 0.0, 2)


def test_weights_of_another_name_are_spoken_of(weights_judge: WeightsJudge) -> None:
    files = [File("model.safetensors", sample.file())]
    assert judge_weights(weights_judge, files).state == "not_started"
    assert unasked_weights(files, [weights_judge]) == [
        "model.safetensors was not looked at: weights are handed in as line.safetensors."
    ]
    assert unasked_weights(files, []) == ["model.safetensors was not looked at: no weights are asked for."]


def test_what_cannot_be_opened_is_told_with_the_result(weights_judge: WeightsJudge, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(sample.file())
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "line.safetensors").symlink_to(tmp_path / "secret")
    result = judge_weights(weights_judge, Submission("alice", (tmp_path / "alice",)).load())
    assert result.state == "stopped"
    assert "line.safetensors is a link, and links are not followed." in result.message


def test_a_large_file_is_not_read(weights_judge: WeightsJudge, tmp_path: Path) -> None:
    with (tmp_path / "line.safetensors").open("wb") as file:
        file.truncate(2**33)
    result = judge_weights(weights_judge, Submission("alice", (tmp_path,)).load())
    assert "has 8,192 MB; at most 4 MB are read." in result.message


def test_a_fault_of_ours_is_ours(weights_judge: WeightsJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_judge.exercise, "build", lambda weights: 1 / 0)
    result = judge_weights(weights_judge, [File("line.safetensors", sample.file())])
    assert result.state == "fault"
    assert "This is our fault, not yours." in result.message


# ---- a class


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    class_folder = tmp_path_factory.mktemp("class")
    handed_in = {"ada": sample.file(), "ben": sample.file(slope=-3.0), "cleo": b"\x80\x04garbage" * 9}
    for student, content in handed_in.items():
        (class_folder / student / "deep").mkdir(parents=True)
        (class_folder / student / "deep" / "line.safetensors").write_bytes(content)
    with zipfile.ZipFile(class_folder / "dan.zip", "w") as archive:
        archive.writestr("work/line.safetensors", sample.file())
    (class_folder / "eva").mkdir()
    (class_folder / "eva" / "notes.py").write_text("line = 3\n")
    return class_folder


def graded(class_folder: Path, out: Path) -> dict[str, dict[str, Any]]:
    plan = Plan(sample.assignment, (None,), salt_of(3), Limits(seconds=4.0, memory_mb=512))
    outcome = grade_class(collect(class_folder).submissions, out, plan, Local(2), seed=3, say=lambda text: None)
    assert len(outcome.tally.standings) == 5
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]
    return {row["student"]: row for row in rows}


def test_a_class_is_graded_by_its_weights(class_folder: Path, tmp_path: Path) -> None:
    rows = graded(class_folder, tmp_path / "out")
    states = {student: (row["state"], row["score"], row["misconception"]) for student, row in rows.items()}
    assert states == {
        "ada": ("passed", 1.0, None),
        "ben": ("not_yet", 0.0, "upside_down"),
        "cleo": ("stopped", 0.0, None),
        "dan": ("passed", 1.0, None),
        "eva": ("not_started", 0.0, None),
    }
    assert "It is a pickle" in rows["cleo"]["message"]
    grades = (tmp_path / "out" / "grades.csv").read_text("utf-8").splitlines()
    assert grades[:3] == ["student,line,total", "ada,2,2", "ben,0,0"]
    page = (tmp_path / "out" / "feedback" / "ben.html").read_text("utf-8")
    assert "Your line falls." in page
    assert "●" in page
    assert "Your line falls." in (tmp_path / "out" / "summary.html").read_text("utf-8")
    again = graded(class_folder, tmp_path / "again")
    assert again == rows  # to the letter, times too
