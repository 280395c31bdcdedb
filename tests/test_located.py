"""What is said of a place holds: an edit that was found makes all probes agree on inputs that nobody looked at.

The answers are some of those that we keep; `benchmarks/locating.py` looks at all of them.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from proctor import Examiner, Result
from proctor.locate import where
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.line_search import LineSearch
from proctor.marking.submissions import File, read_submitted_file
from qkv import exercises
from qkv.authoring.write.sample_answers import SampleAnswer, sample_answers
from qkv.notebook.checking import judged_in_process

ANSWERS = Path(__file__).parents[1] / "answers"
SALTS = ("fresh", "and fresh again")
ONE_IN = 40  # of the files: the search takes its time


def is_chosen(path: Path) -> bool:
    return hashlib.sha256(path.relative_to(ANSWERS).as_posix().encode()).digest()[1] % ONE_IN == 0


FILES = [
    pytest.param(path, list(answers), id=f"{path.parents[1].name}/{path.stem}")
    for path, answers in groupby(sample_answers(ANSWERS, "wrong"), key=lambda answer: answer.path)
    if is_chosen(path)
]


def judged(file: File, names: list[str], salt: str, line_search: LineSearch | None = None) -> dict[str, Result]:
    examiners = {name: Examiner(exercises.get_code(name), salt) for name in names}
    return {r.exercise: r for r in judged_in_process(Answers([extract(file)]), names, examiners, line_search)}


@pytest.mark.parametrize(("path", "answers"), FILES)
def test_a_found_edit_is_right_on_fresh_inputs(
    path: Path, answers: list[SampleAnswer], monkeypatch: pytest.MonkeyPatch
) -> None:
    repaired: dict[str, tuple[str, int | None]] = {}  # the text, and how many probes agree if not all
    text = path.read_text("utf-8")
    told = where.with_repair

    def noting(result: Result, texts: Any, found: Any, reveal: bool) -> Result:
        sources = {label: one.source for label, one in texts.items()}
        edited = text
        for label, new in found.candidate.cells(sources).items():
            old = sources[label].strip("\n")
            assert edited.count(old) == 1
            edited = edited.replace(old, new.strip("\n"))
        repaired[result.exercise] = edited, found.agree
        return told(result, texts, found, reveal)

    monkeypatch.setattr(where, "with_repair", noting)
    names = [name for name in exercises.names() if name in {answer.exercise for answer in answers}]
    results = judged(read_submitted_file(path.name, path), names, "kept answers", LineSearch())
    lines = text.split("\n")
    for name, result in results.items():
        if result.located is None:
            continue
        assert result.help in ("located", "explained", "resembles")
        assert result.line is not None
        assert lines[result.line - 1].strip(), "a line of the student's own"
        assert not result.misconceptions
        assert result.located.new == ""
        for salt in SALTS if name in repaired else ():
            edited, agree = repaired[name]
            again = judged(File(path.name, edited.encode()), names, salt)[name]
            if agree is None:
                assert again.state == "passed", f"{result.message}\n{edited}"
            else:
                assert again.probes_passed == agree, f"{result.message}\n{edited}"


SAID = {  # what the cards of some kept answers say, that once blamed another line, or named no cause
    ("energy/wrong/cpu_only.py", "hopfield_retrieve"): "One change in line 36, `identity = torch.eye(",
    ("models/wrong/writes_into_inputs.py", "perplexity"): "One change in line 76, `real = torch.arange(",
    ("positions/wrong/zeros.py", "piece_kinds"): "\nEvery entry of kinds is 0, and they should differ.\n",
    ("theory/wrong/other_shapes.py", "offset_head"): "\nw_q has 3 dimensions, and 2 are asked for.\n",
    ("meaning/wrong/reversed_order.py", "negative_sampling_loss"): (
        "Look at line 26, and at lines 24 and 25, which go into it: "
    ),
    (
        "scaling/wrong/drawn_instead_of_derived.py",
        "score_variance",
    ): "Your result depends on chance, and the right one does not: ",
}


@pytest.mark.parametrize(("path", "name"), SAID)
def test_the_cause_is_named(path: str, name: str) -> None:
    result = judged(read_submitted_file(path, ANSWERS / path), [name], "a place", LineSearch())[name]
    assert SAID[path, name] in result.message
