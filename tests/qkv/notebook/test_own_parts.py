"""`qkv.mine`: the student's own part if it passes, ours if not, and it says which."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.submissions import File
from qkv import exercises
from qkv.authoring.build.definitions import definition
from qkv.notebook.checking import _examiner, judged_in_process

RIGHT = """def helper(scores, dim):
    return scores - scores.amax(dim, keepdim=True)
def softmax(scores, dim):
    powers = torch.exp(helper(scores, dim))
    return powers / powers.sum(dim, keepdim=True)
"""


def write(folder: Path, text: str, notebook: str = "01_lookup.ipynb") -> None:
    (folder / "_toc.yml").touch()
    (folder / "notebooks").mkdir(exist_ok=True)
    cells = [{"cell_type": "code", "source": source} for source in ("import torch\nprint('hello')", text)]
    (folder / "notebooks" / notebook).write_text(json.dumps({"cells": cells}))


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    write(tmp_path, RIGHT)
    monkeypatch.chdir(tmp_path / "notebooks")
    return importlib.import_module("qkv.mine")


def test_yours_if_it_passes(mine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    found = mine.softmax
    assert found is not exercises.get_code("softmax").reference
    assert found(torch.zeros(2), 0).tolist() == [0.5, 0.5]
    assert capsys.readouterr().out == "softmax is yours, from 01_lookup.ipynb.\n"


@pytest.mark.parametrize("text", [RIGHT.replace("powers /", "2 * powers /"), "def softmax(", "x = 1"])
def test_ours_if_not(mine: Any, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, text)
    assert mine.softmax is exercises.get_code("softmax").reference
    assert capsys.readouterr().out == "softmax is ours: there is none of yours that passes in 01_lookup.ipynb.\n"


def test_what_passed_and_is_not_saved_is_told_so(
    mine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    (tmp_path / "progress.json").write_text(json.dumps({"states": {"softmax": "passed"}}))
    write(tmp_path, "x = 1")
    assert mine.softmax is exercises.get_code("softmax").reference
    said = capsys.readouterr().out
    assert "yours passed, and 01_lookup.ipynb has no such answer. If it is open, save it" in said


def test_the_same_one_wherever_it_is_used_until_it_changes(mine: Any, tmp_path: Path) -> None:
    uses = """from qkv.mine import softmax
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1)
attention_entropy.part = softmax
"""
    write(tmp_path, uses, "02_scaling.ipynb")
    first = mine.softmax
    assert mine.softmax is first
    assert mine.attention_entropy.part is first
    write(tmp_path, RIGHT.replace("helper", "shifted"))
    os.utime(tmp_path / "notebooks" / "01_lookup.ipynb", ns=(1, 1))
    assert mine.softmax is not first


def test_ours_if_other_chapters_could_not_use_yours(
    mine: Any, tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = "from torch import nn\nfrom qkv.model.scaling import scaled_dot_product_attention\n"
    for name in ("split_heads", "merge_heads", "MultiHeadAttention"):
        answer += definition(root / "src" / "qkv" / "model" / "heads.py", name).solved + "\n"
    write(tmp_path, answer, "03_heads.ipynb")
    assert mine.MultiHeadAttention is not exercises.get_code("MultiHeadAttention").reference
    write(tmp_path, answer.replace("self.n_heads", "self.count"), "03_heads.ipynb")
    os.utime(tmp_path / "notebooks" / "03_heads.ipynb", ns=(1, 1))
    assert mine.MultiHeadAttention is exercises.get_code("MultiHeadAttention").reference
    assert capsys.readouterr().out == (
        "MultiHeadAttention is yours, from 03_heads.ipynb.\n"
        "MultiHeadAttention is ours: yours passes, but has no n_heads, which its stub has and other chapters ask for.\n"
    )


def test_only_what_exercises_build(mine: Any) -> None:
    with pytest.raises(AttributeError, match=r"qkv\.mine has the parts that exercises build, and torch"):
        _ = mine.torch


def test_an_answer_that_imports_it_can_be_judged() -> None:
    text = """from qkv.mine import softmax
def attention_entropy(weights):
    return torch.special.entr(weights).sum(-1)
def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = softmax(scores, -1)
    return weights @ v, weights
"""
    answers = Answers([extract(File("work.py", text.encode()))])
    name = "scaled_dot_product_attention"
    (result,) = judged_in_process(answers, [name], {name: _examiner(name)})
    assert result.state == "passed", result.message
