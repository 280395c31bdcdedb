"""A card's folded parts."""

from __future__ import annotations

from proctor.examining.result import Result
from proctor.report.notebook import card


def test_the_checks_stand_folded_on_a_card_where_some_pass() -> None:
    result = Result("mean", "not_yet", 0.5, 1, 2, checks=(("three `values`", True), ("a <b> value", False)))
    shown = card(result)
    assert "<summary>The 2 checks, one by one</summary>" in shown
    assert "<li>✓ passes: three <code>values</code></li><li>○ does not: a &lt;b&gt; value</li>" in shown
    none = Result("mean", "not_yet", 0.0, 0, 2, checks=(("three values", False), ("a value", False)))
    assert "one by one" not in card(none), "the headline says it"
    assert "one by one" not in card(Result("mean", "passed", 1.0, 2, 2))


def test_a_check_of_a_softmax_lists_its_situations() -> None:
    from qkv import check, exercises

    def softmax(scores, dim):  # type: ignore[no-untyped-def]
        return scores.exp() / scores.exp().sum(dim, keepdim=True)

    result = check(softmax)
    assert sum(passes for _, passes in result.checks) == result.probes_passed
    counted = exercises.get_code("softmax").counted().values()
    assert [situation for situation, _ in result.checks] == [probe.situation for probe in counted]
