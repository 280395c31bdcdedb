"""After an answer has passed: a true sentence about it, and our version one click away."""

import pytest

from proctor.report.notebook import card
from qkv import check, exercises
from qkv.notebook.afterwards import Version, difference, our_text

OURS = """def f(x):
    lowered = x - x.amax()
    powers = lowered.exp()
    total = powers.sum()
    return powers / total"""


@pytest.mark.parametrize(
    ("yours", "sentence"),
    [
        (OURS, ""),
        ("def f(x):\n    '''Text.'''\n    return [a.exp() for a in x]",
         "In line 3 yours loops in Python; ours has no loop, and leaves it to torch's operations to do all at once."),
        ("def f(x):\n" + "    x = x.exp()\n" * 9 + "    return x",
         "Yours takes 10 lines, ours 4: look for what ours does without."),
        ("def f(x): return g(x)",
         "Yours takes one line, ours 4: yours is the shorter one."),
        (OURS.replace("amax", "max"), "Where yours calls `max`, ours calls `amax`: the same numbers by another way."),
        (OURS.replace(" - x.amax()", ""), "Ours also calls `amax`, which yours does without."),
        (OURS.replace("total", "total.clone()").replace("total.clone() =", "total ="),
         "Yours also calls `clone`, which ours does without."),
    ],
)  # fmt: skip
def test_what_to_look_at_is_true_of_the_two_texts(yours, sentence):
    assert difference(Version.of(yours), Version.of(OURS)) == sentence


@pytest.mark.parametrize("name", exercises.of_code())
def test_ours_has_no_docstring_and_can_be_compared(name):
    text = our_text(name)
    assert '"""' not in text
    assert Version.of(text).lines >= 1
    assert difference(Version.of(text), Version.of(text)) == ""


def test_a_passed_card_has_ours_folded(tmp_path, monkeypatch):
    monkeypatch.setenv("QKV_PROGRESS", str(tmp_path / "progress.json"))
    result = check(softmax)
    assert result.remarks == ("Yours takes one line, ours 3: yours is the shorter one.",)
    assert '<details class="ours"><summary>How ours does it</summary><pre tabindex="0">def softmax(' in card(result)
    assert "amax" not in result.message.partition("Remark: ")[0]
    monkeypatch.setenv("QKV_PROGRESS", "off")
    assert check(softmax).ours == "", "editions that are executed show what every student sees"


def softmax(scores, dim):
    return (scores - scores.logsumexp(dim, keepdim=True)).exp()
