"""Answers that we keep, as students would hand them in: right ones in unusual styles pass, wrong ones fail."""

import ast
import runpy
from pathlib import Path

import pytest

from proctor.result import Result
from qkv import exercises
from qkv.checking import check_named

ANSWERS = Path(__file__).parent / "answers"


def answers(kind: str):
    for path in sorted(ANSWERS.glob(f"*/{kind}/*.py")):
        defined = {name for node in ast.parse(path.read_text(encoding="utf-8")).body for name in names(node)}
        stem = path.parents[1].name
        for exercise in exercises.chapters().get(stem, []):
            if exercise.name in defined:
                yield pytest.param(path, exercise.name, id=f"{stem}/{path.stem}/{exercise.name}")


def names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def checked(path: Path, name: str) -> Result:
    return check_named(name, runpy.run_path(str(path))[name])


@pytest.mark.parametrize(("path", "name"), list(answers("right")))
def test_a_right_answer_passes_in_any_style(path, name):
    result = checked(path, name)
    assert result.state == "passed", result.message


@pytest.mark.parametrize(("path", "name"), list(answers("wrong")))
def test_a_wrong_answer_does_not_pass(path, name):
    result = checked(path, name)
    assert result.state in ("not_yet", "stopped"), result.message
    assert result.score < 1


@pytest.mark.parametrize("stem", exercises.CHAPTERS)
def test_each_chapter_keeps_enough_answers(stem):
    wrong = [p for p in answers("wrong") if p.id.startswith(f"{stem}/")]
    right = [p for p in answers("right") if p.id.startswith(f"{stem}/")]
    assert len(wrong) >= 24
    assert {p.values[1] for p in right} == {e.name for e in exercises.chapters()[stem]}
