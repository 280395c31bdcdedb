"""`qkv stub` and `qkv review`: files to fill in, for people who like an editor."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from qkv import exercises
from qkv.commands.stub import stem_of, write_review, write_stubs
from qkv.notebook import progress, review
from qkv.notebook.checking import check_file, check_paths
from qkv.notebook.predictions import count_predictions
from qkv.notebook.status import Status

RIGHT = """
def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("stem", exercises.CHAPTERS)
def test_the_stubs_of_every_chapter_run_as_they_are_and_count_as_not_started(stem: str, folder: Path) -> None:
    said: list[str] = []
    coded = [name for name in exercises.names_of(stem) if name in exercises.of_code()]
    assert write_stubs(stem, say=said.append) == 0, said
    (path,) = folder.glob("*.py")
    assert path.name.endswith(f"_{stem}.py")
    exec(compile(path.read_text(), path.name, "exec", dont_inherit=True), {"__name__": "stubs"})
    results, problems = check_file(path)
    assert not problems
    assert [(result.exercise, result.state) for result in results] == [(name, "not_started") for name in coded]


def test_a_file_gets_what_it_lacks_and_keeps_what_it_has(folder: Path) -> None:
    said: list[str] = []
    assert write_stubs("softmax", Path("01_lookup.py"), say=said.append) == 0
    mine = f"import torch\n{RIGHT}"
    (folder / "01_lookup.py").write_text(mine)
    assert write_stubs("01", say=said.append) == 0
    assert (folder / "01_lookup.py").read_text().startswith(mine.rstrip())
    assert "def similarity_scores" in (folder / "01_lookup.py").read_text()
    assert (folder / "01_lookup.py").read_text().count("def softmax") == 1
    assert write_stubs("lookup", say=said.append) == 0
    assert "nothing was changed" in said[-1]


def test_a_chapter_goes_by_its_number_its_stem_and_its_notebook() -> None:
    assert {stem_of(word) for word in ("5", "05", "masks", "05_masks", "05_masks.ipynb")} == {"masks"}


@pytest.mark.parametrize(("chapter", "why"), [("99", "There is no chapter 99. There are: 01 lookup")])
def test_what_is_no_chapter(chapter: str, why: str, folder: Path) -> None:
    said: list[str] = []
    assert write_stubs(chapter, say=said.append) == 1
    assert why in said[0]
    assert not list(folder.glob("*.py"))


def passed_days_ago(folder: Path, **days: int) -> None:
    stored = {
        "states": dict.fromkeys(days, "passed"),
        "passed_on": {name: (date.today() - timedelta(ago)).isoformat() for name, ago in days.items()},
    }
    (folder / "progress.json").write_text(json.dumps(stored))


def test_what_passed_is_asked_for_again_at_equal_intervals_three_times(folder: Path) -> None:
    passed_days_ago(folder, softmax=7, similarity_scores=6)
    today = date.today()
    assert review.due() == ["softmax"]
    assert "Due to be written again, from the empty stub: 1 exercise (`qkv review`)." in str(Status.now())
    for times in range(1, 4):
        stored = progress.load_progress()
        stored["reviews"]["softmax"] = [(today + timedelta(7 * n)).isoformat() for n in range(times)]
        (folder / "progress.json").write_text(json.dumps(stored))
        last = today + timedelta(7 * (times - 1))
        assert "softmax" not in review.due(last + timedelta(6))
        assert ("softmax" in review.due(last + timedelta(7))) == (times < 3)


def test_a_few_at_a_time_and_those_that_waited_longest(folder: Path) -> None:
    passed_days_ago(folder, softmax=8, similarity_scores=30, soft_lookup=9, causal_mask=10)
    assert review.due() == ["similarity_scores", "causal_mask", "soft_lookup"]


def test_a_review_is_passed_in_its_own_file_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    passed_days_ago(folder, softmax=7)
    said: list[str] = []
    (folder / "work.py").write_text(f"import torch\n{RIGHT}")
    assert check_paths([folder / "work.py"]) == 0
    assert review.due() == ["softmax"], "the answer of last week is no review"
    assert write_review(say=said.append) == 0
    (path,) = folder.glob("review_*.py")
    assert "raise NotImplementedError" in path.read_text()
    assert write_review(say=said.append) == 0
    assert "there already" in said[-1]
    path.write_text(f"import torch\n{RIGHT}")
    assert check_paths([path]) == 0
    assert review.due() == []
    assert progress.load_progress()["reviews"] == {"softmax": [date.today().isoformat()]}
    assert write_review(say=said.append) == 0
    assert "Nothing is due" in said[-1]


def test_predictions_are_counted(folder: Path) -> None:
    (folder / "notebooks").mkdir()
    cells = [
        {"cell_type": "raw", "source": source}
        for source in ("My prediction: ", "My prediction: it falls", ["My prediction:", " so"], "something else")
    ]
    (folder / "notebooks" / "01_lookup.ipynb").write_text(json.dumps({"cells": cells}))
    (folder / "notebooks" / "02_scaling.ipynb").write_text("no notebook")
    assert count_predictions(folder / "notebooks") == (2, 3)


def test_the_exercises_of_a_chapter_are_listed_with_what_they_take(folder: Path) -> None:
    passed_days_ago(folder, softmax=1)
    listed = Status.now().of_chapter(1).splitlines()
    assert listed[0] == "01 Queries, keys, values"
    assert listed[1].startswith("✓ 1.1   softmax")
    assert len(listed) == 1 + len(exercises.names_of("lookup"))
    assert exercises.get("softmax").effort in listed[1]
