"""The benchmarks run, each part in its smallest size; what one part measured anew leaves the others as they are."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor import Examiner
from proctor.inside.observe import Observation
from qkv.authoring.write.rotation import turn
from qkv.exercises import get_code

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
RESULTS = (BENCHMARKS / "RESULTS.md").read_text("utf-8")


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    """What benchmarks/run.py defines."""
    return runpy.run_path(str(BENCHMARKS / "run.py"))


PARTS = re.findall(r"^<!-- (\w+) -->$", RESULTS, flags=re.M)


@pytest.mark.slow
@pytest.mark.parametrize("part", turn(PARTS))
def test_a_part_runs(part: str, tmp_path: Path) -> None:
    """A quarter of the parts, another one each day; all of them where `QKV_ALL=1` is set."""
    words = [sys.executable, BENCHMARKS / "run.py", "--smoke", "--only", part, "--home", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    shown = re.findall(r"^## .*$", done.stdout, flags=re.M)
    stored = RESULTS.partition(f"<!-- {part} -->")[2].partition("<!-- ")[0]
    assert shown == re.findall(r"^## .*$", stored, flags=re.M), "the headings that RESULTS.md has, in its order"
    assert (BENCHMARKS / "RESULTS.md").read_text("utf-8") == RESULTS
    assert not list(tmp_path.glob("venv-*")), "nothing was installed"


def test_the_results_have_every_part_with_its_place_and_date(program: dict[str, Any]) -> None:
    assert tuple(PARTS) == program["ORDER"]
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


def test_a_second_program_proves_what_is_so_and_refutes_what_is_not() -> None:
    """Lines of evidence and facts, held against the tensors that they speak of."""
    proving = runpy.run_path(str(BENCHMARKS / "proving.py"))
    exercise = get_code("softmax")
    examiner = Examiner(exercise, "proof")
    probe = next(iter(exercise.probes))
    right = examiner.expected[probe].observation.values or {}
    (label,) = right
    yours = right[label] * 2
    seen = {probe: Observation({label: yours})}
    at = [0] * yours.dim()
    mine, ours = yours[tuple(at)].item(), right[label][tuple(at)].item()
    for claim, verdict in {
        f"{label}{at} is {mine:.3g}, expected {ours:.3g}.": True,
        f"{label}{at} is {mine + 1:.3g}, expected {ours:.3g}.": False,
        f"Every entry of {label} is off by the same factor, 2.": True,
        f"Every entry of {label} is off by the same factor, 3.": False,
        f"Every entry of {label} has the wrong sign.": False,
        "Your rows should sum to 1, and all of them sum to 2.0000.": True,
        "Your rows should sum to 1, and all of them sum to 3.0000.": False,
        "It feels wrong.": None,
    }.items():
        assert proving["evidence_holds"](claim, examiner, probe, seen) is verdict, claim


def test_a_card_is_proved_on_other_inputs() -> None:
    proving = runpy.run_path(str(BENCHMARKS / "proving.py"))
    path = BENCHMARKS.parent / "answers" / "lookup" / "wrong" / "near_misses.py"
    exercise = get_code("softmax")
    result, proof = proving["proof"](path, "softmax", Examiner(exercise, "one"), Examiner(exercise, "other"))
    assert result.help in ("explained", "located")
    assert proof.proved, proof
    assert proof.holds[0] == "refused"
    assert len(proof.holds) > 2
