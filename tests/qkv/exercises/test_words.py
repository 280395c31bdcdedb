"""What probes call their tensors and situations stands on cards: it has to read as English there."""

import re
from functools import cache

import pytest
import torch

from proctor import Examiner
from qkv import exercises

VERB = r"(is|are|has|raises|requires|needs|stays|gives?|reaches|understands)"
CLAUSE = rf"(of .* it|(?!(is|are|has|of|on|in)\b)[\w`]+\b.*)\b ?{VERB}\b"


@cache
def examiner(name):
    return Examiner(exercises.get_code(name), "words")


@pytest.mark.parametrize("name", exercises.of_code())
def test_labels_read_as_sentences(name):
    """No label says `argument 0`; what is true or false is a clause with a subject and a verb."""
    judge = examiner(name)
    faults = []
    for probe, expected in judge.expected.items():
        if judge.exercise.probes[probe].kind == "remark":
            continue
        for label, value in expected.values.items():
            said = judge.spoken(probe)(label)
            clause = value.tensor.dim() == 0 and value.tensor.dtype == torch.bool
            if re.search(r"\bargument \d|\binput \d", said):
                faults.append(f"{probe}: {said}")
            if clause and " after the call" not in said and not re.match(CLAUSE, said):
                faults.append(f"{probe}: {said}")
    assert faults == []


@pytest.mark.parametrize("name", exercises.of_code())
def test_situations_complete_seen_on(name):
    """`Seen on three queries over five keys:` — a noun, in plain English."""
    situations = [probe.situation for probe in exercises.get_code(name).probes.values()]
    odd = r"every size another|not given|no \w+ given|steps on\b|\bprobes?\b|\.$|^(on|with|if|when|is|are|that)\b"
    assert [s for s in situations if re.search(odd, s)] == []


@pytest.mark.parametrize("name", exercises.of_code())
def test_no_mistake_or_hint_speaks_of_probes(name):
    exercise = exercises.get(name)
    texts = [f"{m.explanation.sentence} {m.explanation.reason}" for m in exercise.misconceptions.values()]
    assert [t for t in (*texts, *exercise.hints, exercise.why) if re.search(r"\bprobes?\b", t)] == []
