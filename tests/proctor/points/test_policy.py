"""The policy of a course: what it says, its mistakes with their lines, and how it makes points of scores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proctor.points.corrections import Correction, Corrections
from proctor.points.policy import BadPolicy, Policy, read_policy, shared
from proctor.points.scheme import Scheme
from proctor.points.times_file import read_times
from proctor.points.toml_lines import key_lines
from proctor.tables import BadTable

WORTH = {"double": 1.0, "shifted": 2.0, "square": 1.0, "share": 1.0, "bump": 1.0}
CHAPTERS = {"lines": ["double", "shifted"], "curves": ["square", "share", "bump"]}
WHOLE = """
pass_mark = "50 %"

[points]
double = 4
curves = 10

[[best]]
of = ["square", "share", "bump"]
count = 2

[due]
lines = 2026-11-10T23:00:00+01:00
square = 2026-11-12T00:00:00Z

[late]
grace = "15 min"
factors = [0.9, 0.5]

[extensions]
ben = "2 days"
cara = { square = 2026-11-20T12:00:00Z }
"Zo\u00eb" = "36 h"

[groups]
red = ["anna", "dan"]
"""


def policy(tmp_path: Path, text: str) -> Policy:
    (tmp_path / "course.toml").write_text(text, encoding="utf-8")
    return read_policy(tmp_path / "course.toml", WORTH, CHAPTERS)


def test_a_whole_policy(tmp_path: Path) -> None:
    found = policy(tmp_path, WHOLE)
    assert found.points == {"double": 4, "square": 3.3333, "share": 3.3333, "bump": 3.3334}
    assert (found.pass_mark, found.pass_share, found.grace) == (0.5, True, timedelta(minutes=15))
    assert found.due["double"] == found.due["shifted"] == datetime(2026, 11, 10, 22, tzinfo=UTC)
    assert found.due_for("ben", "shifted") == datetime(2026, 11, 12, 22, tzinfo=UTC)
    assert found.due_for("Zoe\u0308", "square") == datetime(2026, 11, 13, 12, tzinfo=UTC)
    assert found.due_for("cara", "square") == datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert found.due_for("cara", "double") == found.due["double"]
    assert found.due_for("anna", "bump") is None
    assert found.others_in_group("dan") == {"anna"}
    assert found.others_in_group("ben") == set()


def test_an_empty_policy_changes_nothing(tmp_path: Path) -> None:
    assert policy(tmp_path, "") == Policy()
    marks = Scheme(WORTH, policy=Policy()).marks("anna", [("double", 0.5), ("shifted", 0.3)])
    assert (marks.total, marks.passed, [mark.told for mark in marks]) == (1.1, None, ["", ""])


def test_shared_points_add_up() -> None:
    for points in (10, 7, 0, 0.1):
        assert sum(shared(points, dict.fromkeys("abc", 1.0)).values()) == pytest.approx(points, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pass_mark = ", "line 1: this is not TOML: Invalid value."),
        (f"\n[points]\ndouble = {'9' * 5000}", "line 3: this number is too long."),
        (
            "[late]\nfactors = []\n[due]\ndouble = 0001-01-01T00:00:00+23:00",
            "line 4: 0001-01-01T00:00:00+23:00 is far from any course: a year from 1970 to 2999 is expected.",
        ),
        (
            '[extensions]\nanna = 9999-12-31T23:59:00-23:00',
            "line 2: 9999-12-31T23:59:00-23:00 is far from any course: a year from 1970 to 2999 is expected.",
        ),
        ("a = 1", "line 1: there is no 'a' in a policy."),
        ("\n[point]\ndouble = 1", "line 2: there is no 'point' in a policy; did you mean points?"),
        ("points = 3", "line 1: points is a table: write [points], and its lines below."),
        ("[points]\ndoubel = 1", "line 2: there is no exercise and no chapter 'doubel'; did you mean double?"),
        ("[points]\n\ndouble = -1", "line 3: -1 is no number of points: a number from 0 to 1e+06 is expected."),
        ("[points]\ndouble = nan", "line 2: nan is no number of points: a number from 0 to 1e+06 is expected."),
        ("[points]\ndouble = true", "line 2: True is no number of points: a number from 0 to 1e+06 is expected."),
        ("[points]\nlines = 5\ndouble = 1", "line 2: lines has points, and so has double, which is one of its "
         "exercises."),
        ("points.\"x y\" = 1", "line 1: there is no exercise and no chapter 'x y'."),
        ("pass_mark = 'half'", "line 1: 'half' is no pass mark: write \"50 %\", or a number of points without quotes."),
        ("pass_mark = '200 %'", "line 1: '200 %' is no pass mark: write \"50 %\", or a number of points without "
         "quotes."),
        ("[best]\nof = ['double']", "line 1: best is a list of tables: write [[best]], with of and count below."),
        ("[[best]]\nof = 'lines'\ncount = 1", "line 2: of is a list of exercises or chapters."),
        ("[[best]]\nof = ['lines', 'curves']\ncount = 2",
         "line 3: count is 2; of 2, some count and some don't: 1 to 1."),
        ("[[best]]\nof = ['lines', 'curves']\n", "line 1: count is None; of 2, some count and some don't: 1 to 1."),
        ("[[best]]\nof = ['lines', 'double']\ncount = 1", "line 2: double is named twice under [[best]]."),
        ("[[best]]\nof = ['double', 'share']\ncount = 1\n[[best]]\nof = ['lines', 'bump']\ncount = 1",
         "line 5: double is named twice under [[best]]."),
        ("[due]\nlines = 2026-11-10T12:00:00Z", "line 1: there are times and no factors: write [late] with factors = "
         "[0.9, 0.5], say, or [] for none."),
        ("late.factors = []\n[due]\nlines = 2026-11-10", "line 3: 2026-11-10 is no time: write "
         "2026-11-10T23:59:00+01:00, without quotes."),
        ("late.factors = []\n[due]\nlines = 'friday'", "line 3: 'friday' is no time: write 2026-11-10T23:59:00+01:00, "
         "without quotes."),
        ("[late]\nfactors = [0.5, 0.9]", "line 2: a later day would be worth more than the one before."),
        ("[late]\nfactors = 0.5", "line 2: factors is a list, a number for each day: [0.9, 0.75]."),
        ("[late]\nfactors = [\n 1.5]", "line 2: 1.5 is no factor: a number from 0 to 1 is expected."),
        ("[late]\nfactors = []\ngrace = 15", "line 3: 15 is no length of time: write \"15 min\", \"36 hours\" or "
         "\"2 days\"."),
        ("[late]\nfactors = []\ngarce = '15 min'", "line 3: there is no 'garce' in [late]; did you mean grace?"),
        ("[extensions]\nanna = 'a lot'", "line 2: 'a lot' is no length of time: write \"15 min\", \"36 hours\" or "
         "\"2 days\"."),
        ("[extensions.anna]\nline = '1 day'", "line 2: there is no exercise and no chapter 'line'; did you mean "
         "lines?"),
        ("[groups]\nred = ['anna']", "line 2: a group is a list of two students or more: [\"anna\", \"ben\"]."),
        ("[groups]\nred = ['anna', 'ben']\nblue = ['cy', 'ben']", "line 3: ben is in two groups, or twice in one."),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(BadPolicy) as caught:
        policy(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'course.toml'} cannot be used as it is:\n  {told}"


def test_all_mistakes_are_told_in_the_order_of_lines(tmp_path: Path) -> None:
    with pytest.raises(BadPolicy) as caught:
        policy(tmp_path, "pass_mark = []\n[late]\nfactors = [2]\n[points]\nx = 1\n")
    assert [line.split(":")[0] for line in str(caught.value).splitlines()[1:]] == ["  line 1", "  line 3", "  line 5"]


def test_lines_of_keys() -> None:
    text = "a.b = 1\n[x.'y z']\n\"k=\" = 2\n[[t]]\nn = 1\n[[t]]\nn = 2 # [no]\n"
    assert key_lines(text) == {
        ("a",): 1, ("a", "b"): 1, ("x", "y z"): 2, ("x", "y z", "k="): 3, ("t",): 4, ("t", 0): 4, ("t", 0, "n"): 5,
        ("t", 1): 6, ("t", 1, "n"): 7,
    }  # fmt: skip


# ---- points


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "days", "points"),
    [
        ("2026-11-10 22:00", 0, 4.0),
        ("2026-11-10 22:15", 0, 4.0),
        ("2026-11-10 22:16", 1, 3.6),
        ("2026-11-11 22:00", 1, 3.6),
        ("2026-11-11 22:01", 2, 2.0),
        ("2026-11-12 22:01", 3, 0.0),
    ],
)
def test_late_factors_by_day(tmp_path: Path, time: str, days: int, points: float) -> None:
    rules = policy(tmp_path, WHOLE)
    assert rules.days_late("anna", "double", at(time)) == days
    mark = Scheme(WORTH, policy=rules, times={"anna": at(time)}).mark("anna", "double", 1.0)
    assert (mark.verdict, mark.points, mark.late) == (4.0, points, days > 0)
    assert bool(mark.steps) == (days > 0)


def test_the_page_can_say_how_late_points_came_about(tmp_path: Path) -> None:
    corrections = Corrections([Correction("ben", "shifted", "1.5", "Fine.")])
    scheme = Scheme(WORTH, corrections, policy(tmp_path, WHOLE), {"ben": at("2026-11-13 10:00")})
    assert scheme.mark("ben", "shifted", 0.5).told == (
        "The check gave 1 of 2; a person corrected it to 1.5.\n"
        "Handed in 2026-11-13 10:00 UTC, due 2026-11-12 22:00 UTC with an extension: 1 day late, so 1.5 × 0.9 = 1.35.\n"
        "Comment: Fine."
    )
    assert scheme.mark("ben", "double", 0.0).told == ""  # nothing is taken from nothing


def test_without_a_time_nobody_is_late(tmp_path: Path) -> None:
    scheme = Scheme(WORTH, policy=policy(tmp_path, WHOLE), times={"zed": at("2027-01-01 00:00")})
    assert scheme.mark("anna", "double", 1.0).points == 4


def test_the_best_count_and_the_others_say_that_they_do_not(tmp_path: Path) -> None:
    scheme = Scheme(WORTH, policy=policy(tmp_path, WHOLE))
    scores = {"double": 1.0, "shifted": 0.0, "square": 0.3, "share": 1.0, "bump": 0.3}
    marks = scheme.marks("anna", scores.items())
    assert [mark.exercise for mark in marks if not mark.counts] == ["bump"]  # of equal ones the first counts
    assert marks["bump"].told == "This does not count: of square, share, bump, the best 2 do."
    assert marks.total == pytest.approx(4 + 3.3333 + 1.0)
    assert marks.possible(scores) == pytest.approx(4 + 2 + 3.3334 + 3.3333)
    assert marks.needed == pytest.approx(marks.possible(scores) / 2)
    assert marks.passed is True
    assert scheme.marks("anna", [("double", 0.9)]).passed is True  # of what was graded
    assert scheme.possible(["square", "share"]) == pytest.approx(6.6666)


def test_chapters_can_be_the_best(tmp_path: Path) -> None:
    rules = policy(tmp_path, "pass_mark = 3\n[[best]]\nof = ['lines', 'curves']\ncount = 1")
    marks = Scheme(WORTH, policy=rules).marks("anna", [(name, 0.5) for name in WORTH])
    assert ([mark.exercise for mark in marks if mark.counts], marks.total, marks.passed) == (
        ["double", "shifted"], 1.5, False)  # fmt: skip
    assert marks.possible(WORTH) == 3


# ---- times


def test_times_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("time;folder\n2026-11-10 22:15:00+01:00;anna\n2026-11-10;'=ben\n")
    assert read_times(tmp_path / "times.csv") == {"anna": at("2026-11-10 21:15"), "=ben": at("2026-11-10 00:00")}


def test_mistakes_in_times_are_told(tmp_path: Path) -> None:
    (tmp_path / "times.csv").write_text("folder,time\nanna,soon\n,2026-11-10\nben,2026-11-10\nben,2026-11-11\n")
    with pytest.raises(BadTable) as caught:
        read_times(tmp_path / "times.csv")
    assert str(caught.value).splitlines()[1:] == [
        "  line 2: 'soon' is no time: write 2026-11-10T22:15:00+01:00.",
        "  line 3: there is no folder.",
        "  line 5: ben has a time in line 4 already.",
    ]
