"""Claims at the head of a cell, and the number that the cell printed."""

from __future__ import annotations

import re

import pytest

from qkv.authoring.build.claims import Claim, take_claims, without_findings
from qkv.authoring.build.printed import Printed

CELL = """# claim: dot-is-direction
# says: A large dot product means the same direction.
# verdict: holds if all keys have the same length
# control: with 64 components they disagree in {64 from 0 to 2}
# measured: they disagree in {8 from 0 to 2}
# assert: {8 from 0 to 2} > 0.4
# assert: {64 from 0 to 2} > 0.4
# claim: second
# says: Two claims may share a cell.
# verdict: holds
x = 1
# says: not here
"""

PRINTED = Printed(""" d   lengths       disagree
 8   from 0 to 2   0.51 ± 0.01
64   from 0 to 2   0.49 ± 0.02
d = 1: True, seeds [1, 2] at 3.5e-06, 12.5%
d = 12: 1,024 of 2,048, are nan
mask 1
mask and more -inf
""")


def claim(*measured: str, verdict: str = "holds") -> Claim:
    return Claim("an-id", "People say so.", verdict, measured)


def test_claims_are_taken_from_the_head_of_their_cell() -> None:
    (first, second), code = take_claims(CELL)
    assert (first.id, first.kind, first.measured) == (
        "dot-is-direction", "holds-if", ("they disagree in {8 from 0 to 2}",),
    )  # fmt: skip
    assert (second.id, second.kind, second.measured) == ("second", "holds", ())
    assert (first.asserted, second.asserted) == (("{8 from 0 to 2} > 0.4", "{64 from 0 to 2} > 0.4"), ())
    assert code == "x = 1\n# says: not here"
    assert first.box(PRINTED).startswith("(claim-dot-is-direction)=\n:::::{admonition} Claim\n:class: claim holds-if\n")
    assert "“A large dot product means the same direction.”" in first.box(PRINTED)
    assert "Verdict: holds if all keys have the same length" in first.box(PRINTED)
    assert "{.control}\nControl: with 64 components they disagree in 0.49 ± 0.02" in first.box(PRINTED)


@pytest.mark.parametrize(
    ("verdict", "control", "needs"),
    [
        ("holds", "", True),
        ("wrong", "the same without a mask", True),  # its number is not read
        ("wrong", "the same without a mask, {mask}", False),
        ("holds as an identity", "", False),
        ("wrong by definition", "", False),
    ],
)
def test_a_verdict_that_an_experiment_decides_has_a_control(verdict: str, control: str, needs: bool) -> None:
    assert Claim("an-id", "People say so.", verdict, control=control).needs_control == needs


def test_a_cell_without_claims_stays_as_it_is() -> None:
    for source in ("x = 1\n", "# a comment\nx = 1", "x = 1\n# claim: a\n# says: b\n# verdict: c"):
        assert take_claims(source) == ([], source)
        assert without_findings(source) == source


def test_editions_show_what_people_say_and_not_what_was_found() -> None:
    assert without_findings(CELL).splitlines() == [
        "# claim: dot-is-direction",
        "# says: A large dot product means the same direction.",
        "# claim: second",
        "# says: Two claims may share a cell.",
        "x = 1",
        "# says: not here",
    ]


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("holds", "holds"),
        ("holds; the gap closes", "holds"),
        ("holds if x", "holds-if"),
        ("holds only if x", "holds-if"),
        ("holds here, at both rates", "holds-if"),
        ("holds, at rank 4", "holds-if"),
        ("holds within 3 %", "holds-if"),
        ("holds by definition", "defined"),
        ("wrong by definition; it is the output", "defined"),
        ("holds as an identity", "defined"),
        ("wrong", "wrong"),
        ("wrong: it grows", "wrong"),
        ("not shown: the spreads overlap", "not-shown"),
    ],
)
def test_kinds_of_verdict(verdict: str, kind: str) -> None:
    assert claim(verdict=verdict).kind == kind


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("# says: b\nx", "a cell's claim begins with its id, `# claim: …`, not with '# says: b'"),
        ("# claim: An Id\nx", "the claim 'An Id' needs an id of small letters, digits and hyphens"),
        ("# claim: a\n# verdict: holds\nx", "the claim a needs one line `# says: …`, and has 0"),
        ("# claim: a\n# says: b\n# says: c\n# verdict: holds", "the claim a needs one line `# says: …`, and has 2"),
        ("# claim: a\n# says: b\nx", "the claim a needs one line `# verdict: …`, and has 0"),
        (
            "# claim: a\n# says: b\n# verdict: maybe\nx",
            "the claim a has the verdict 'maybe'; a verdict begins with holds, holds if, wrong, or not shown",
        ),
    ],
)
def test_what_an_author_has_to_mend_is_said(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        take_claims(source)


@pytest.mark.parametrize(
    ("measured", "found"),
    [
        ("they disagree in {8 from 0 to 2} of cases", "they disagree in 0.51 ± 0.01 of cases"),
        ("{8 from 0 to 2} or {64 from 0 to 2}", "0.51 ± 0.01 or 0.49 ± 0.02"),
        ("{8   from  0 to 2}", "0.51 ± 0.01"),  # spaces do not count
        ("{d = 1:} for {d = 1: #2} at {d = 1: #3}, {d = 1: #4}", "True for [1, 2] at 3.5e-06, 12.5%"),
        ("{d = 12} of {d = 12: #2}: {d = 12: #3}", "1,024 of 2,048: nan"),
        ("{mask} and {mask and more}", "1 and -inf"),  # where two lines begin so, the one that goes on with a number
        ("64 from", "`64 from 0 to 2 0.49 ± 0.02`"),  # the whole line
    ],
)
def test_numbers_come_from_what_was_printed(measured: str, found: str) -> None:
    assert claim(measured).found(PRINTED) == found


def test_without_a_word_the_first_line_with_a_number_is_quoted() -> None:
    assert claim().found(Printed("heading\n\n  a   1.5\nb 2\n")) == "`a 1.5`"
    assert claim().found(Printed("no number\nat all")) == "`no number`"
    assert claim("one {a}", "two {b}").found(Printed("a 1\nb 2")) == "one 1; two 2"


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        (
            "{nowhere}",
            "'nowhere' is asked for, with which no printed line begins. Name the beginning of one line: ",
        ),
        ("d", "'d' is asked for, with which 3 printed lines begin. Name the beginning of one line: "),
        ("{8 from 0 to 2 #2}", "no number 2 behind '8 from 0 to 2' in the printed line '8 from 0 to 2 0.51 ± 0.01'"),
    ],
)
def test_numbers_that_were_not_printed_are_missed(measured: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        claim(measured).found(PRINTED)
    with pytest.raises(ValueError, match="its cell prints nothing that could be quoted"):
        claim(measured).found(Printed("\n"))


@pytest.mark.parametrize(
    "assertion",
    [
        "{8 from 0 to 2} > 0.4",
        "abs({8 from 0 to 2} - {64 from 0 to 2}) < 0.1",
        "{d = 1:} == True and {d = 1: #2} == [1, 2]",
        "{d = 1: #3} < 1e-5 and {d = 1: #4} == 12.5",
        "{d = 12:} * 2 == {d = 12: #2} and isnan({d = 12: #3})",
        "{mask and more} == -inf",
    ],
)
def test_an_assertion_is_asked_of_what_was_printed(assertion: str) -> None:
    assert Claim("an-id", asserted=(assertion,)).contradiction(PRINTED) is None
    said = Claim("an-id", asserted=("{mask} == 1", f"not ({assertion})")).contradiction(PRINTED)
    assert said is not None
    assert said.startswith(f"claim an-id: `not ({assertion})` is not true here, where {{")


def test_an_assertion_names_an_error() -> None:
    assert (
        Claim("a", asserted=('{it raises} == "ValueError"',)).contradiction(Printed("it raises ValueError, at once"))
        is None
    )


@pytest.mark.parametrize("assertion", ["{mask} >", "{mask}.real.nothing", "unknown > {mask}", "open({mask})"])
def test_an_assertion_that_is_no_question_is_told(assertion: str) -> None:
    with pytest.raises(ValueError, match=r"^`# assert: .*` is no question \("):
        Claim("a", asserted=(assertion,)).contradiction(PRINTED)
