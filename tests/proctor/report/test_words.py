"""Words that people read: what authors call a probe is a check on cards, on pages and in the guides."""

import re
from pathlib import Path

import pytest

from proctor.examining.result import IN_WORDS, STATES, Explanation, Result
from proctor.locate import words
from proctor.report import templating
from proctor.report.notebook import card

ROOT = Path(__file__).resolve().parents[3]
GUIDES = (
    "README.md",
    "book/index.md",
    "book/glossary.md",
    *(f"book/guides/{n}.md" for n in ("students", "instructors")),
)
OTHER_PROBES = (
    r"linear probe|Labels that mean nothing, read by a probe|what a probe reads from a vector|call it a probe"
)


def test_no_card_speaks_of_probes():
    results = [Result("softmax", state, 0.5, 2, 4, explanations=(Explanation("It is so."),)) for state in STATES]
    said = [result.message for result in results] + [re.sub("<style>.*</style>", "", card(r)) for r in results]
    said += [*IN_WORDS.values(), *words.TRACE_STEPS, *words.UNFINISHED_STEPS]
    said += [text for kind in words.KINDS.values() for text in (kind.look, kind.step)]
    said += [words.one_change("line 3", "x", "sign", 9), words.one_change("line 3", "x", "sign", 9, 4)]
    said += [words.two_changes([("line 3", "sign"), ("line 4", "order")], 9)]
    assert [text for text in said if re.search(r"\bprobe", text)] == []
    assert results[1].headline == "softmax: not yet (2 of 4 checks pass)"


@pytest.mark.parametrize("name", [p.name for p in (Path(templating.__file__).parent / "templates").glob("*.html")])
def test_no_page_speaks_of_probes(name):
    text = (Path(templating.__file__).parent / "templates" / name).read_text(encoding="utf-8")
    assert not re.search(r"\bprobes?\b", re.sub(r"\{[%{].*?[%}]\}", "", text))


@pytest.mark.parametrize("guide", GUIDES)
def test_no_guide_for_students_or_instructors_does(guide):
    text = re.sub(OTHER_PROBES, "", (ROOT / guide).read_text(encoding="utf-8"))
    assert re.findall(r".*\b[Pp]robes?\b.*", text) == []
