"""What a tutor is told: the mistake and the evidence, and what is not to be said."""

from __future__ import annotations

from dataclasses import replace

from proctor.examining.result import Explanation, Result
from proctor.report.tutor import RULES

WRONG = Result(
    "mean",
    "not_yet",
    0.5,
    2,
    4,
    misconceptions=("sum_only",),
    explanations=(Explanation("You return the sum.", "A mean does not grow with the number of values."),),
    situation="three values",
    evidence=("result is 6, expected 2.",),
    next_step='section "Means".',
    help="named",
    line=3,
    steps=("Divide.",),
)


def test_a_tutor_hears_the_mistake_the_evidence_and_the_rules() -> None:
    said = WRONG.for_tutor()
    for part in ("2 of 4 checks", "You return the sum.", "sum_only", "  result is 6, expected 2.", "3.", RULES):
        assert part in said
    assert said.index(RULES) < said.index("Divide."), "a step is named among what is not to be said"


def test_without_a_name_nothing_is_claimed_by_name() -> None:
    said = replace(WRONG, misconceptions=(), explanations=(), steps=(), line=None).for_tutor()
    assert "nothing beyond the evidence" in said
    assert "by name" not in said
    assert "step by step" not in said


def test_of_a_right_answer_there_is_nothing_to_keep_back() -> None:
    said = Result("mean", "passed", 1.0, 4, 4).for_tutor()
    assert "Nothing is wrong" in said
    assert RULES not in said
