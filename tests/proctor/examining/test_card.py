"""The card and the terminal's text: everything is there, and nothing from a student gets through unescaped."""

import re

from proctor.examining.result import STATES, Explanation, Result
from proctor.report.notebook import STYLE, card
from proctor.report.terminal import terminal_text


def result(**changes) -> Result:
    fields = {
        "exercise": "softmax", "state": "not_yet", "score": 0.5, "probes_passed": 2, "probes": 4,
        "explanations": (Explanation("You overflow.", "Because `exp` grows."),), "situation": "huge scores",
        "evidence": ("weights[0] is nan, expected 0.2.",), "next_step": 'section "Weights", or hint("softmax").',
    }  # fmt: skip
    return Result(**{**fields, **changes})


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)))


def test_verdict_evidence_reason_next_step():
    assert result().message == (
        "softmax: not yet (2 of 4 checks pass)\nYou overflow.\nSeen on huge scores:\n"
        "  weights[0] is nan, expected 0.2.\n"
        'Because `exp` grows.\nNext: section "Weights", or hint("softmax").'
    )
    shown = words(card(result()))
    for part in (
        "not yet",
        "softmax",
        "2 of 4 checks pass",
        "You overflow.",
        "huge scores",
        "expected 0.2.",
        "exp",
        "Next:",
    ):
        assert part in shown


def test_remarks_come_last_one_line_each_also_when_all_is_well():
    passed = Result("softmax", "passed", 1.0, 4, 4, remarks=("`dim` is used once.", "It runs twice."))
    assert passed.message == (
        "softmax: passed (4 of 4 checks pass)\nRemark: `dim` is used once.\nRemark: It runs twice."
    )
    assert terminal_text(passed) == passed.message
    assert words(card(passed)).rstrip().endswith("Remark: dim is used once. Remark: It runs twice.")
    assert result(remarks=("Late.",)).message.endswith('hint("softmax").\nRemark: Late.')


def test_a_row_has_the_fields_that_others_read_in_their_order():
    row = result(misconceptions=("overflows",), help="named", line=3, seconds=0.5).row("anna")
    assert list(row) == [
        "student", "exercise", "state", "score", "probes_passed", "probes", "misconception", "help", "line", "message",
        "seconds",
    ]  # fmt: skip
    assert (row["help"], row["line"]) == ("named", 3)
    assert (result().row("anna")["help"], result().row("anna")["line"]) == (None, None)


def test_students_text_is_escaped():
    attack = "<script>alert(1)</script>"
    shown = result(
        evidence=(attack,), explanations=(Explanation(attack, f"`{attack}`"),), situation=attack, remarks=(attack,)
    )
    html = card(shown)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5


def test_style_can_be_left_out():
    assert STYLE in card(result())
    assert "<style" not in card(result(), style=False)


def test_every_state_has_its_sign_and_words():
    shown = [words(card(result(state=state, probes_passed=0))) for state in STATES]
    assert len(set(shown)) == len(STATES)


def test_terminal_text_is_plain_unless_asked():
    assert terminal_text(result()) == result().message
    assert terminal_text(result(), colour=True).startswith("\x1b[1;33msoftmax: not yet")
