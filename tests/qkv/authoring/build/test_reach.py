"""What a text reaches of other modules: what it names, what that uses, what is there for its effect; nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from qkv.authoring.build.reach import reach

SHAPES = """
from parts import lengths
from parts.lengths import unit as one, metre

limits = {}
limits["side"] = one


def square(side):
    return area(side, side)


def area(a: float, b: float) -> float:
    return a * b * one


class Circle:
    def __init__(self):
        import parts.late
        self.unit = metre


def unrelated():
    return Circle
"""
FILES = {
    "parts": "",
    "parts.shapes": SHAPES,
    "parts.lengths": "unit = 1\nmetre = 100 * unit\ninch = 2.54\n",
    "parts.late": "x = 1\n",
    "others": "y = 1\n",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from parts.shapes import square", {"parts.shapes": "one limits square area", "parts.lengths": "unit"}),
        (
            "from parts.shapes import Circle",
            {"parts.shapes": "one metre limits Circle", "parts.lengths": "unit metre", "parts.late": "x"},
        ),
        ("from parts import lengths", {"parts.lengths": "unit metre inch"}),
        ("import parts.lengths", {"parts.lengths": "unit metre inch"}),
        ("def later():\n    from parts.lengths import inch", {"parts.lengths": "inch"}),
        ("from parts.lengths import *", {"parts.lengths": "unit metre inch"}),
        ("import others\n%magic", {}),
        ("import others", {}),
    ],
)  # fmt: skip
def test_what_is_reached(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    for name, code in FILES.items():
        (tmp_path / f"{name}.py").write_text(code, "utf-8")

    def find(name: str) -> Path | None:
        path = tmp_path / f"{name}.py"
        return path if path.exists() and name.startswith("parts") else None

    found = reach([text], [], find)
    names = {
        name: list(dict.fromkeys(n for statement in module.statements() for n in sorted(statement.binds)))
        for name, module in found.items()
    }
    assert {name: bound for name, bound in names.items() if bound} == {n: e.split() for n, e in expected.items()}
