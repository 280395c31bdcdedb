"""A class for the benchmark: notebooks of ten exercises, most answers right, some wrong, no two the same program.

The same notebook serves all three graders. Its answer and test cells carry nbgrader's metadata; the others ignore it.
"""

from __future__ import annotations

import ast
import json
import random
import zlib
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from spellings import shape, spelled

ANSWERS = Path(__file__).resolve().parent / "answers"
SETUP = """\
import math
import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""


def definitions(name: str) -> dict[str, str]:
    """Function or class -> its text, of one file of answers."""
    source = (ANSWERS / f"{name}.py").read_text("utf-8")
    nodes = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {node.name: ast.get_source_segment(source, node) or "" for node in nodes}


def body(text: str) -> str:
    return dedent(text.partition("\n")[2])


RIGHT = definitions("right")
WRONG = definitions("wrong")
TESTS = {name.removeprefix("test_"): body(text) for name, text in definitions("tests").items()}
EXERCISES = list(TESTS)


def is_right(student: int) -> dict[str, bool]:
    """Which answers of a student are right as they are written; one in seven makes a given mistake."""
    dice = random.Random(student)
    return {name: name not in WRONG or dice.random() > 1 / 7 for name in EXERCISES}


def answers(student: int) -> dict[str, str]:
    """What one student wrote."""
    dice = random.Random(-student)
    found = {}
    for name, right in is_right(student).items():
        ways = (
            [RIGHT[way].replace(way, name) for way in (name, f"{name}_2") if way in RIGHT] if right else [WRONG[name]]
        )
        found[name] = spelled(dice.choice(ways), dice)
    return found


def differ(students: int) -> tuple[int, int]:
    """How many notebooks, and how many answers in them, are different programs, the names of variables left aside."""
    shapes = [[shape(text) for text in answers(number).values()] for number in range(students)]
    return len({tuple(found) for found in shapes}), len({text for found in shapes for text in found})


def notebook(written: Mapping[str, str], tests: bool) -> str:
    """A notebook with nbgrader's metadata; with or without its test cells."""
    cells = [cell(SETUP)]
    for name, text in written.items():
        cells.append(cell(text, grade_id=name, solution=True))
        if tests:
            cells.append(cell(TESTS[name], grade_id=f"test_{name}"))
        cells.append(cell(f'print("{name} is done")'))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    )


def cell(text: str, grade_id: str = "", solution: bool = False) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
    made["id"] = f"c{zlib.crc32(f'{grade_id} {text}'.encode()):08x}"
    if grade_id:
        about = {"schema_version": 3, "grade_id": grade_id, "solution": solution, "grade": not solution, "task": False}
        made["metadata"]["nbgrader"] = about | {"locked": not solution} | ({} if solution else {"points": 1})
    return made


def student_name(number: int) -> str:
    return f"student{number:04}"


def make(folder: Path, students: int) -> Path:
    """A class on disk: one notebook per student."""
    for number in range(students):
        place = folder / student_name(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / "ps1.ipynb").write_text(notebook(answers(number), tests=True), encoding="utf-8")
    return folder
