"""Names in notebooks: what a chapter defines beside its exercises is not taken for an answer to one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.submissions import read_submitted_file
from proctor.source.cells import parse_cell
from proctor.source.statements import statements
from qkv import exercises
from qkv.commands.hand_in import is_begun

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_untouched_notebook_begins_nothing(path: Path) -> None:
    answers = Answers([extract(read_submitted_file(path.name, path))])
    assert [name for name in exercises.of_code() if is_begun(answers, name)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_only_an_exercise_s_cell_binds_its_name(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    codes = [
        "".join(c["source"])
        for c in cells
        if c["cell_type"] == "code" and "exercise" not in c["metadata"].get("tags", ())
    ]
    bound = {name for code in codes for one in statements(parse_cell(code)) if not one.is_import for name in one.binds}
    assert not bound & set(exercises.of_code())
