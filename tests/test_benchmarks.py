"""The benchmarks run, each part in its smallest size; what one part measured anew leaves the others as they are."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
RESULTS = (BENCHMARKS / "RESULTS.md").read_text("utf-8")


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    """What benchmarks/run.py defines."""
    return runpy.run_path(str(BENCHMARKS / "run.py"))


@pytest.mark.slow
def test_every_part_runs(tmp_path: Path, program: dict[str, Any]) -> None:
    words = [sys.executable, BENCHMARKS / "run.py", "--smoke", "--home", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    shown = re.findall(r"^## .*$", done.stdout, flags=re.M)
    assert shown == re.findall(r"^## .*$", RESULTS, flags=re.M), "the parts that RESULTS.md has, in its order"
    assert (BENCHMARKS / "RESULTS.md").read_text("utf-8") == RESULTS
    assert not list(tmp_path.glob("venv-*")), "nothing was installed"


def test_the_results_have_every_part_with_its_place_and_date(program: dict[str, Any]) -> None:
    assert tuple(re.findall(r"^<!-- (\w+) -->$", RESULTS, flags=re.M)) == program["ORDER"]
    for part in RESULTS.split("<!-- ")[1:]:
        assert re.match(r"\w+ -->\n## .+\n\n\d{4}-\d\d-\d\d, .*\btorch \S+.*\.\n\n", part), part[:200]


def test_one_part_is_put_in_the_place_of_the_old_one(program: dict[str, Any]) -> None:
    with_part = program["with_part"]
    text = with_part(with_part("", "growth", ["## Growth", "", "old"]), "grading", ["## Grading a class", "", "500"])
    assert text == with_part(text, "grading", ["## Grading a class", "", "500"])
    new = with_part(text, "growth", ["## Growth", "", "new", "", "## More", "", "of it"])
    assert "old" not in new
    assert new.index("500") < new.index("new") < new.index("of it"), "in their order, whichever came first"
    assert with_part(RESULTS, "nothing that we measure", []) == RESULTS
