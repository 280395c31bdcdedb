"""The page with the whole GPT: a program that runs by itself, and is the reference's equal."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import torch

from qkv.authoring.publish.one_page import one_page, shortened_definition
from qkv.course import Course
from qkv.model.capstone import TinyGPT, next_token_loss, write_story

ROOT = Path(__file__).parents[4]
SIZES = {"vocab": 11, "d_model": 12, "n_heads": 3, "n_layers": 2, "d_ff": 17}


@pytest.fixture(scope="module")
def program() -> str:
    return one_page(Course(ROOT)).removeprefix("```python\n").removesuffix("\n```")


@pytest.fixture(scope="module")
def names(program: str) -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "one_page"}
    exec(program, found)
    return found


def test_it_fits_on_a_page_and_needs_nothing_of_ours(program: str) -> None:
    assert len(program.splitlines()) < 200
    assert max(map(len, program.splitlines())) < 110
    assert "qkv" not in program
    assert "expects" not in program


def test_it_is_the_model_that_is_graded(names: dict[str, Any]) -> None:
    ours, cut = TinyGPT(**SIZES), names["TinyGPT"](**SIZES)
    cut.load_state_dict(ours.state_dict())
    ids = torch.randint(11, (2, 7), generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([7, 4])
    torch.testing.assert_close(cut(ids), ours(ids), rtol=0, atol=0)
    assert names["next_token_loss"](cut, ids, lengths) == next_token_loss(ours, ids, lengths)
    written = [
        write(model, [1, 2], 0, 9, 5, torch.Generator().manual_seed(3))
        for write, model in ((names["write_story"], cut), (write_story, ours))
    ]
    assert written[0] == written[1]


def test_every_import_is_used_and_nothing_is_taken_twice(program: str) -> None:
    body = ast.parse(program).body
    used = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
    imported = [a.asname or a.name for n in body if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names]
    assert set(imported) - {"annotations"} <= used
    defined = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assert len(defined) == len(set(defined))


def test_a_definition_is_shortened() -> None:
    source = '''class Part:
    """What it is.

    And more.
    """

    def forward(
        self,
        x: int,
    ) -> int:
        """What it does."""
        return x'''
    assert (
        shortened_definition(source)
        == '''class Part:
    """What it is."""

    def forward(self, x: int) -> int:
        return x'''
    )
