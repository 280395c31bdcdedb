"""The line of a mistake without a name is found by running, here and in the sandbox, and what is said holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from proctor import Examiner, Result
from proctor.grading.worker import assignment_sandbox, examiners_of
from proctor.inside.running import EDIT_TIME_LIMIT
from proctor.locate import repair
from proctor.locate.proof import is_unfitting
from proctor.locate.source import applied
from proctor.locate.where import EditableCell
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract
from proctor.marking.in_process import InProcess
from proctor.marking.line_search import LineSearch
from proctor.marking.mark import mark_submission
from proctor.marking.submission_marker import SubmissionMarker
from proctor.marking.submissions import File
from proctor.sandbox import Limits, Sandbox

SALT = "a line"
Mark = Callable[..., Result]

RIGHT = """\
def standardise(x, gain, eps=1e-3):
    middle = x.mean(-1, keepdim=True)
    centred = x - middle
    spread = (centred ** 2).mean(-1, keepdim=True)
    return gain * centred / (spread + eps).sqrt()
"""


@pytest.fixture(scope="module")
def examiners(sample_norm: Any) -> dict[str, Examiner]:
    return examiners_of(sample_norm.assignment(), SALT)


@pytest.fixture(scope="module")
def box(sample_norm: Any, examiners: dict[str, Examiner], quick_start: None) -> Iterator[Sandbox]:
    with assignment_sandbox(sample_norm.assignment(), examiners, Limits(seconds=10.0, memory_mb=1024)) as box:
        yield box


@pytest.fixture(scope="module")
def here(examiners: dict[str, Examiner]) -> InProcess:
    probes = {n: {p.name: p.function for p in e.exercise.probes.values()} for n, e in examiners.items()}
    return InProcess(probes, lambda name: examiners[name].draws)


@pytest.fixture(params=["here", "in the sandbox"])
def mark(request: pytest.FixtureRequest, sample_norm: Any, examiners: dict[str, Examiner]) -> Mark:
    """Mark a submission that is given as text: the result of one exercise."""
    runner = request.getfixturevalue("here" if request.param == "here" else "box")

    def mark(text: str, name: str = "standardise", line_search: LineSearch | None = None) -> Result:
        files = [File("work.py", text.encode())]
        locator = line_search or LineSearch(reveal=True)
        results, _, _ = mark_submission(sample_norm.assignment(), examiners, runner, files, locator)
        return next(result for result in results if result.exercise == name)

    return mark


def changed(*changes: tuple[str, str]) -> str:
    text = RIGHT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("change", "line", "kind"),
    [
        (("** 2).mean(-1", "** 2).mean(-2"), 4, "dimension"),
        (("x - middle", "x + middle"), 3, "operator"),
        (("(spread + eps).sqrt()", "(spread - eps).sqrt()"), 5, "operator"),
        (("(spread + eps).sqrt()", "(spread.sqrt() + eps)"), 5, "brackets"),
        (("gain * centred", "gain * middle"), 5, "name"),
        (("** 2", "** 3"), 4, "constant"),
        (("eps=1e-3", "eps=1e-1"), 1, "constant"),
        ((".sqrt()", ""), 5, "power"),
        (("gain * centred", "centred"), 5, "missing step"),
    ],
)
def test_one_change_is_found_and_told(mark: Mark, change: tuple[str, str], line: int, kind: str) -> None:
    result = mark(changed(change))
    assert result.state == "not_yet"
    unread = "Your code never looks at `gain`." in result.message
    assert (result.help, unread) == (("explained", True) if kind == "missing step" else ("located", False))
    assert result.line == line
    assert result.located is not None
    assert (result.located.by, result.located.kind) == ("repair", kind)
    assert f"One change in line {line}, `" in result.message
    assert "makes all 3 checks pass: look at " in result.message


def test_a_branch_that_is_always_needed_is_no_question_of_its_operator(mark: Mark) -> None:
    """An `or` in the condition would make it hold always, too."""
    text = changed(
        ("    return", "    if len(x) > 3 and len(x) > 2:\n        centred = gain * centred\n    return"),
        ("gain * centred /", "centred /"),
    )
    result = mark(text)
    assert result.line == 5
    assert "look at whether this condition is wanted." in result.message


def test_to_drop_a_factor_says_more_than_another_operator(mark: Mark) -> None:
    """To divide by 1.0 instead of it would pass as well."""
    result = mark(changed(("gain * centred", "gain * centred * 2")))
    assert result.located is not None
    assert result.located.kind == "operation"
    assert "whether all of it is wanted" in result.message


def test_the_repair_is_never_shown(mark: Mark) -> None:
    result = mark(changed(("** 2).mean(-1", "** 2).mean(-2")))
    assert result.located is not None
    assert result.located.new == "(-1)"
    shown = "\n".join((result.message, *result.steps))
    assert "(-1)" not in shown
    assert result.steps[0] == "The change was made to this piece of your code: `-2`."
    hidden = mark(changed(("** 2).mean(-1", "** 2).mean(-2")), line_search=LineSearch())
    assert hidden.located is not None
    assert hidden.located.new == ""
    assert replace(hidden, located=result.located) == result


def test_two_changes_where_one_is_not_enough(mark: Mark) -> None:
    """The first makes rows right, whose eps is the default; the second the stack, whose eps is given."""
    text = changed(("eps=1e-3", "eps=1e-1"), ("spread + eps", "spread + (eps if eps != 0.1 else 1e-2)"))
    result = mark(text)
    assert result.help == "located"


def test_where_the_numbers_part_if_no_change_is_found(mark: Mark) -> None:
    """Four mistakes in one line are no small edit."""
    result = mark(
        changed(("gain * centred / (spread + eps).sqrt()", "(spread.cos() - eps * 7) ** gain + centred.sin()"))
    )
    assert result.help == "located"
    assert result.located is not None
    assert result.located.by == "trace"
    assert result.line == 5
    assert result.message.startswith(
        "standardise: not yet (0 of 3 checks pass)\n"
        "Look at line 5: our solution has the tensors that `(spread.cos() - eps * 7) ** gain + centred.sin()` is made "
        "of, but not what comes out of it."
    )


def test_numbers_are_traced_where_numbers_are_asked_for(mark: Mark) -> None:
    text = "def count_pairs(n):\n    ordered = n * (n - 1) ** 3 + 17\n    half = ordered // 2\n    return half\n"
    result = mark(text, "count_pairs", LineSearch(candidates=0))
    assert (result.help, result.line) == ("located", 2), result.message
    assert "with the right value in place of" in result.message


def test_a_value_that_no_right_one_replaces_is_not_blamed(mark: Mark) -> None:
    """It may be another way: nothing in our solution, put there, makes the checks pass."""
    text = "def count_pairs(n):\n    ordered = n * (n - 1)\n    square = ordered ** 3 + 17\n    return square - n\n"
    result = mark(text, "count_pairs")
    assert (result.help, result.line, result.located) == ("shown", None, None)
    assert "Look at" not in result.message


ANOTHER_WAY = """\
def standardise(x, gain, eps=1e-3):
    squares = (x * x).mean(-1, keepdim=True)
    spread = squares - x.mean(-1, keepdim=True).square()
    return gain * (x - x.mean(-1, keepdim=True)) / (spread + eps).sqrt()
"""


def test_another_right_way_before_the_mistake_is_not_blamed(mark: Mark) -> None:
    """The mean of squares is in no solution of ours, and right; what is wrong is the last line."""
    only_trace = LineSearch(candidates=0)
    assert mark(ANOTHER_WAY, line_search=only_trace).state == "passed"
    result = mark(ANOTHER_WAY.replace("(spread + eps).sqrt()", "(7 * spread + eps).sqrt()"), line_search=only_trace)
    assert (result.help, result.line) == ("located", 4), result.message
    assert "with the right value in place of `7 * spread`, your answer passes both checks of values" in result.message


def test_a_truth_is_never_the_right_value_of_a_number() -> None:
    mine = np.array([0.2, 1.5])
    assert is_unfitting(torch.tensor([True, False]), mine)
    assert not is_unfitting(torch.tensor([1.0, 2.0]), mine)
    assert not is_unfitting(torch.tensor([True, False]), np.array([0.0, 1.0]))


def test_a_variable_is_not_blamed_where_it_is_only_returned(mark: Mark) -> None:
    """Another formula in its place would pass, too; the mistake is where it gets its value."""
    text = changed(("    return gain * centred", "    result = gain * centred")) + "    return result\n"
    result = mark(text.replace("gain * centred /", "gain.cos() * centred.exp() * 3 /"))
    assert result.line != 6, result.message


def test_other_lines_with_the_same_code_are_named() -> None:
    cell = EditableCell("a = norm(x, 1e-6)\nb = 2 * a\nc = norm(b, 1e-6)\nd = 2 * c\n")
    assert cell.again("1e-6", 1) == [3]
    assert cell.again("2 * ", 2) == []  # hardly a piece of code, and no sign of one mistake made twice


def test_what_is_mended_in_part_says_so(mark: Mark) -> None:
    """The second mistake shows in the stack alone, whose eps is given."""
    text = changed(
        ("(centred ** 2)", "(centred ** 4)"), ("gain * centred", "gain * (1 if eps == 1e-3 else 2) * centred")
    )
    result = mark(text, line_search=LineSearch(candidates=0))
    assert (result.help, result.line) == ("located", 4), result.message
    assert "passes 1 of the 2 checks of values that it fails now, and something else is left." in result.message


def test_a_helper_of_the_same_file_is_searched_too(mark: Mark) -> None:
    text = "def spread_of(t):\n    return (t ** 2).mean(-2, keepdim=True)\n\n\n" + changed(
        ("(centred ** 2).mean(-1, keepdim=True)", "spread_of(centred)")
    )
    result = mark(text)
    assert result.line == 2
    assert "One change in line 2, `return (t ** 2).mean(-2, keepdim=True)`, makes all 3 checks pass" in result.message


BY_ROWS = """\
def standardise(x, gain, eps=1e-3):
    flat = x.reshape(-1, x.shape[-1])
    rows = []
    for row in flat:
        centred = row - row.mean()
        spread = (centred ** 2).mean()
        rows.append(gain * centred / (spread + eps).sqrt())
    return torch.stack(rows).reshape(x.shape)
"""
INTO_A_COPY = """\
def standardise(x, gain, eps=1e-3):
    out = x.clone()
    for i in range(len(x)):
        row = x[i]
        centred = row - row.mean(-1, keepdim=True)
        out[i] = gain * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    return out
"""


@pytest.mark.parametrize(
    ("right", "change", "line", "said"),
    [
        (
            BY_ROWS,
            ("(centred ** 2)", "(centred ** 2).cos()"),
            6,
            "in place of `(centred ** 2).cos()`, your answer passes both",
        ),
        (
            BY_ROWS,
            ("(centred ** 2).mean()", "(centred ** 2).mean().cos()"),
            6,
            "in place of `(centred ** 2).mean().cos()`, your answer passes both",
        ),
        (INTO_A_COPY, ("range(len(x))", "range(len(x) - 1)"), None, ""),  # the line is right, and the loop ends early
        (
            INTO_A_COPY,
            ("    return", "    out.clamp_(max=0.5)\n    return"),
            7,
            "has the tensors that `out.clamp_(max=0.5)` is made of, but not what comes out",
        ),
    ],
)
def test_where_the_numbers_part_in_a_loop(
    mark: Mark, right: str, change: tuple[str, str], line: int | None, said: str
) -> None:
    """Each round computes a part of what our solution has at once, and nothing is wrong with that."""
    only_trace = LineSearch(candidates=0)
    assert mark(right, line_search=only_trace).state == "passed"
    result = mark(right.replace(*change), line_search=only_trace)
    assert result.line == line
    assert said in result.message
    assert (f"Look at line {line}" in result.message) == bool(line)


def test_another_way_that_is_right_elsewhere_is_not_the_mistake(mark: Mark) -> None:
    """Seven times something is a value that our solution has nowhere, and it is there where the answer is right too."""
    text = changed(
        ("centred / (", "scaled / below"),
        ("spread + eps).sqrt()", ""),
        (
            "    return",
            "    scaled = 7 * centred\n"
            "    wider = eps if eps == 1e-3 else eps + 1\n"
            "    below = 7 * (spread + wider).sqrt()\n"
            "    return",
        ),
    )
    result = mark(text, line_search=LineSearch(candidates=0))
    assert result.line == 7
    assert (
        "Look at line 7: with the right value in place of `spread + wider`, your answer passes the check of values "
        "that it fails now." in result.message
    )


@pytest.mark.parametrize(
    "change",
    [
        ("x - middle", "x.sub_(middle)"),
        ("    centred = x - middle", "    x -= middle\n    centred = x"),
        ("    centred = x - middle", "    x[...] = x - middle\n    centred = x"),
    ],
)
def test_a_property_that_is_missing_has_its_line(mark: Mark, change: tuple[str, str]) -> None:
    result = mark(changed(change))
    assert (result.help, result.line, result.located) == ("explained", 3, None)
    what, where = (explanation.sentence for explanation in result.explanations)
    assert what.startswith("Your code changes a tensor that it was given.")
    assert where.startswith("One change in line 3, `")
    assert where.endswith("makes all 3 checks pass: look at what is changed in place.")


def test_an_edit_that_mends_all_values_is_told_as_that(mark: Mark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Besides, the answer writes into its input, for which a second edit would be needed."""
    monkeypatch.setattr(repair, "SEEDS", 0)
    text = changed(("x - middle", "x + middle"), ("    return", "    x[...] = 0\n    return"))
    result = mark(text)
    assert (result.help, result.line) == ("located", 3)
    assert "One change in line 3, `centred = x + middle`, makes 2 of the 3 checks pass: look at the operator." in (
        result.message
    )


def test_what_is_right_so_far_is_said_to_be(mark: Mark) -> None:
    result = mark(changed(("gain * centred / (spread + eps).sqrt()", "spread")), line_search=LineSearch(candidates=0))
    assert result.line == 5
    assert "Look at line 5: `spread` is a value that our solution has too, but on the way to its result." in (
        result.message
    )


def test_a_named_mistake_is_not_searched(mark: Mark) -> None:
    text = "def standardise(x, gain, eps=1e-3):\n    return gain * x / ((x ** 2).mean(-1, keepdim=True) + eps).sqrt()\n"
    result = mark(text)
    assert (result.help, result.misconceptions, result.located) == ("named", ("not_centred",), None)


def test_it_costs_no_points(mark: Mark, sample_norm: Any, examiners: dict[str, Examiner], here: InProcess) -> None:
    text = changed(("eps=1e-3", "eps=1e-1"))
    files = [File("work.py", text.encode())]
    plain = mark_submission(sample_norm.assignment(), examiners, here, files)[0][0]
    found = mark(text)
    assert plain.help == "shown"
    assert (found.score, found.state, found.probes_passed) == (plain.score, plain.state, plain.probes_passed)


def test_an_edit_that_never_ends_is_passed_over(mark: Mark) -> None:
    """With `<` for `>`, or `+` for `-`, this loops for ever."""
    text = changed(
        ("    middle", "    n = 3\n    while n > 0:\n        n = n - 1\n    middle"), ("x - middle", "x * middle")
    )
    assert EDIT_TIME_LIMIT < 1
    result = mark(text)
    assert result.line == 6
    assert result.located is not None
    assert result.located.kind == "operator"


def test_an_edit_that_ends_its_process_is_passed_over(mark: Mark, request: pytest.FixtureRequest) -> None:
    if "here" in request.node.name:
        pytest.skip("it would end this process")
    text = "import os\n\n\n" + changed(
        ("    middle", "    if gain > 1000:\n        os._exit(3)\n    middle"), ("x - middle", "x * middle")
    )
    result = mark(text)
    assert result.line == 8


def test_a_table_of_the_answers_locates_nothing_false(mark: Mark) -> None:
    """An answer that shares nothing with the reference: what is said, if anything, is about a line that it has."""
    text = "def standardise(x, gain, eps=1e-3):\n    return torch.rand(x.shape)\n"
    result = mark(text)
    assert result.located is None or result.line == 2


def test_the_found_edit_passes_on_fresh_inputs(mark: Mark, sample_norm: Any, examiners: dict[str, Examiner]) -> None:
    for change in (("x - middle", "x + middle"), ("(spread + eps).sqrt()", "(spread - eps).sqrt()")):
        text = changed(change)
        found = mark(text).located
        assert found is not None
        assert text.count(found.old) == 1
        repaired = text.replace(found.old, found.new)
        names: dict[str, Any] = {}
        exec("import torch\n" + repaired, names)
        for salt in ("fresh", "and fresh again"):
            assert Examiner(sample_norm.exercise, salt).examine(names["standardise"]).state == "passed"


def test_a_reference_without_a_text_traces_nothing(sample: Any) -> None:
    """Its values cannot be known, so nothing may be said of them."""
    examiners = examiners_of(sample.assignment(), SALT)
    probes = {n: {p.name: p.function for p in e.exercise.probes.values()} for n, e in examiners.items()}
    runner = InProcess(probes, lambda name: examiners[name].draws)
    answers = Answers(
        [extract(File("work.py", sample.code(square="def square(x):\n    return x.sin().cos()\n").encode()))]
    )
    marker = SubmissionMarker(sample.assignment(), examiners, runner, answers, locator=LineSearch())
    marker.mark()
    assert marker.results["square"].state == "not_yet"
    assert marker.results["square"].help == "shown"


def test_edits_are_made_where_they_say(sample_norm: Any) -> None:
    from proctor.locate.repair import candidates

    found = candidates({"work.py": "\n\n" + RIGHT}, [])
    for candidate in found:
        ((_, edit),) = candidate.edits
        assert 3 <= edit.line <= 7
        before, after = ("\n\n" + RIGHT).split("\n"), applied("\n\n" + RIGHT, edit).split("\n")
        first = next(i for i, (a, b) in enumerate(zip(before, after, strict=False), 1) if a != b)
        assert first <= edit.line <= first + 1


@pytest.mark.parametrize("seed", ["", "torch.manual_seed(1); "])
def test_a_result_that_depends_on_chance_is_told_with_its_line(mark: Mark, seed: str) -> None:
    drawing = f"    {seed}middle = torch.rand(9).mean() + x.mean(-1, keepdim=True)\n"
    result = mark("import torch\n" + changed(("    middle = x.mean(-1, keepdim=True)\n", drawing)))
    assert (result.state, result.help, result.line) == ("not_yet", "explained", 3)
    assert result.explanations[0].sentence == (
        "Your result depends on chance, and the right one does not: with other random numbers yours is another one. "
        "They are drawn in line 3, `torch.rand(9)`."
    )


def test_numbers_that_make_no_difference_are_no_chance(mark: Mark) -> None:
    drawing = "    middle = 0 * torch.rand(9).mean() + 2 * x.mean(-1, keepdim=True)\n"
    result = mark("import torch\n" + changed(("    middle = x.mean(-1, keepdim=True)\n", drawing)))
    assert result.state == "not_yet"
    assert "chance" not in result.message


def test_what_is_computed_and_never_used_is_a_remark(mark: Mark) -> None:
    result = mark(changed(("    return gain * centred / (spread + eps).sqrt()", "    return gain * x / (x + eps)")))
    assert result.remarks == ("Nothing reads `spread`, which line 4 computes.",)
    assert mark(RIGHT + "    unused = x + 1\n").remarks == ()  # of a right answer nothing is said
