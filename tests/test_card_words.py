"""Cards of wrong answers that we keep, as sentences: what a reader cannot know, or should not read, stands on none."""

from __future__ import annotations

import hashlib
import re
from itertools import groupby
from pathlib import Path

import pytest

from proctor import Examiner
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.submissions import read_submitted_file
from proctor.report.notebook import card
from qkv import exercises
from qkv.authoring.write.sample_answers import SampleAnswer, sample_answers
from qkv.notebook.checking import judged_in_process

ANSWERS = Path(__file__).parents[1] / "answers"
ONE_IN = 48  # of the files
REFUSED = {
    "an argument by its number": r"\bargument \d",
    "a word of authors": r"\bprobes?\b",
    "a shape of what has a length": r"has shape \(\d+,\), expected \(\d+,\)",
    "a label as a sentence": r"^\s*[^:\[\n]+ is (True|False), expected (True|False)\.$",
    "a value that nobody can see": r"our solution has nowhere",
    "a situation as a subject": r"^On [^,]*, \w+ returned",
    "a clause twice": r"(\b\w+(?: \w+){3,}[.,:]) \1",
    "a name twice": r"(\S+\.safetensors): \1",
    "a number of hints": r"[Hh]int \d of \d",
}
TORCH = r"non-singleton|c10::|not compiled with CUDA"  # alone: a clause has to say what did not fit
FILES = [
    pytest.param(path, list(answers), id=f"{path.parents[1].name}/{path.stem}")
    for path, answers in groupby(sample_answers(ANSWERS, "wrong"), key=lambda answer: answer.path)
    if hashlib.sha256(path.relative_to(ANSWERS).as_posix().encode()).digest()[2] % ONE_IN == 0
]


def faults(message: str) -> list[str]:
    found = [why for why, pattern in REFUSED.items() if re.search(pattern, message, re.MULTILINE)]
    lines = message.split("\n")
    if any(re.search(TORCH, line) for line in lines) and len(lines) < 4:
        found.append("torch's words alone")
    return found


@pytest.mark.parametrize(("path", "answers"), FILES)
def test_cards_read_as_sentences(path: Path, answers: list[SampleAnswer]) -> None:
    names = [name for name in exercises.of_code() if name in {answer.exercise for answer in answers}]
    examiners = {name: Examiner(exercises.get_code(name), "words") for name in names}
    submission = Answers([extract(read_submitted_file(path.name, path))])
    for result in judged_in_process(submission, names, examiners):
        assert faults(result.message) == [], result.message
        assert card(result)


@pytest.mark.parametrize(
    "message",
    [
        "f: not yet\n  argument 0 7 after the call is missing.",
        "f: not yet (0 of 2 probes agree)",
        "f: not yet\n  ids has shape (7,), expected (5,).",
        "f: not yet\n  linear.weight is trained is True, expected False.",
        "f: not yet\n  moved is True, expected False.",
        "f: not yet\nLook at line 2: `x` has a value that our solution has nowhere.",
        "f: not yet\nOn the gradient, f returned None.",
        "tiny_gpt.safetensors: tiny_gpt.safetensors is empty.",
        "f: stopped\nRuntimeError: value cannot be converted to type c10::Half without overflow",
    ],
)
def test_each_class_is_refused(message: str) -> None:
    assert faults(message)
