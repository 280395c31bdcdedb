"""The policy of a course, from one small file `course.toml`: what counts how much, until when, and for whom.

    pass_mark = "50 %"                       # of the points, or a number of points

    [points]                                 # of an exercise, or of all exercises of a chapter together
    rotate = 2
    turning = 10

    [[best]]                                 # of these, the two that bring most
    of = ["turning", "mirrors", "shears"]
    count = 2

    [due]                                    # a time without a zone is UTC
    turning = 2026-11-10T23:59:00+01:00

    [late]
    grace = "15 min"
    factors = [0.9, 0.75, 0.5]               # of the first, second and third day; nothing after that

    [extensions]                             # longer, or until a time; for all, or for some
    anna = "2 days"
    ben = { turning = 2026-11-20T12:00:00Z }

    [groups]                                 # one submission for several
    red = ["anna", "cara"]

Everything may be left out. It is checked as a whole, and each mistake is a sentence with its line.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from proctor.points.toml_lines import line_of
from proctor.tables import BadTable, ended, key, read_text

NAME = "course.toml"
KNOWN = ("pass_mark", "points", "best", "due", "late", "extensions", "groups")
SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(min|minutes?|h|hours?|d|days?)")
UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
MOST_POINTS = 1e6
LONGEST = timedelta(days=3660)
YEARS = range(1970, 3000)  # of a time; at the ends of the calendar there is nothing to add to

Longer = timedelta | datetime  # an extension: so much longer, or until then


class BadPolicy(ValueError):
    """A file that cannot be used; the message has a sentence for each mistake, with its line."""


@dataclass(frozen=True)
class Best:
    """Of some exercises or chapters only those count that bring most.

    Args:
        of: exercise or chapter -> its exercises.
        count: how many count.
    """

    of: Mapping[str, tuple[str, ...]]
    count: int


@dataclass(frozen=True)
class Policy:
    """A policy that was read and checked.

    Args:
        points: exercise -> what it is worth, where that is not its own.
        best: of what only some count.
        due: exercise -> when it is due.
        grace: lateness that costs nothing.
        factors: of the first day late, the second, …
        extensions: student -> exercise ('' for all) -> how much longer, or until when.
        groups: name -> students with one submission.
        pass_mark: points that are needed, or their share of all.
        pass_share: whether it is a share.
    """

    points: Mapping[str, float] = field(default_factory=dict)
    best: tuple[Best, ...] = ()
    due: Mapping[str, datetime] = field(default_factory=dict)
    grace: timedelta = timedelta()
    factors: tuple[float, ...] = ()
    extensions: Mapping[str, Mapping[str, Longer]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pass_mark: float | None = None
    pass_share: bool = False

    def due_for(self, student: str, exercise: str) -> datetime | None:
        """When an exercise is due for a student; None if it is not."""
        due = self.due.get(exercise)
        mine = self.extensions.get(key(student), {})
        longer = mine.get(exercise, mine.get(""))
        if due is None or longer is None:
            return due
        return max(due, longer if isinstance(longer, datetime) else due + longer)

    def days_late(self, student: str, exercise: str, at: datetime) -> int:
        """How many days late a submission is, each begun day a whole one; 0 within the period of grace."""
        due = self.due_for(student, exercise)
        if due is None or at <= due + self.grace:
            return 0
        return -((due - at) // timedelta(days=1))

    def factor(self, days: int) -> float:
        """What is left of the points after so many days."""
        if days == 0:
            return 1.0
        return self.factors[days - 1] if days <= len(self.factors) else 0.0

    @property
    def students(self) -> set[str]:
        """Everybody whom the policy names."""
        return set(self.extensions) | {key(student) for members in self.groups.values() for student in members}

    def others_in_group(self, student: str) -> set[str]:
        """With whom a student hands in one submission."""
        groups = [{key(member) for member in members} for members in self.groups.values()]
        return set().union(*(group for group in groups if key(student) in group)) - {key(student)}


def read_policy(path: Path, worth: Mapping[str, float], chapters: Mapping[str, Sequence[str]]) -> Policy:
    """A policy from its file.

    Args:
        path: of the file.
        worth: every exercise -> what it is worth by itself.
        chapters: the name of a chapter -> its exercises.

    Raises:
        BadPolicy: something in it is a mistake. All of them are named.
    """
    try:
        text = read_text(path)
        given = tomllib.loads(text)
    except BadTable as error:
        raise BadPolicy(f"{path} {str(error).replace('CSV UTF-8', 'UTF-8')}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        at = re.search(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = (at[2] if at else None) or len(text.splitlines()) or 1
        sentence = f"line {line}: this is not TOML: {at[1] if at else 'it is too deep'}"
        raise BadPolicy(f"{path} cannot be used as it is:\n  {sentence}.") from None
    except ValueError:  # Python's own, of a number that is too long for it
        long = re.search(r"\d{4300}", text)
        line = text.count("\n", 0, long.start() if long else 0) + 1
        raise BadPolicy(f"{path} cannot be used as it is:\n  line {line}: this number is too long.") from None
    reader = Reader(text, worth, chapters)
    policy = reader.policy(given)
    if reader.mistakes:
        told = [f"line {line}: {ended(sentence)}" for line, sentence in sorted(set(reader.mistakes))]
        raise BadPolicy("\n  ".join([f"{path} cannot be used as it is:", *told]))
    return policy


class Reader:
    """Reads the parts of a policy and notes what is wrong with them."""

    def __init__(self, text: str, worth: Mapping[str, float], chapters: Mapping[str, Sequence[str]]) -> None:
        self.text, self.worth, self.chapters = text, worth, chapters
        self.mistakes: list[tuple[int, str]] = []

    def note(self, sentence: str, *path: str | int) -> None:
        self.mistakes.append((line_of(self.text, *path), sentence))

    def policy(self, given: Mapping[str, Any]) -> Policy:
        for name in given:
            if name not in KNOWN:
                self.note(f"there is no {name!r} in a policy{near(name, KNOWN)}", name)
        mark, share = self.pass_mark(given.get("pass_mark"))
        late = self.table(given, "late")
        due = {
            exercise: self.time(at, "due", name)
            for name, at in self.table(given, "due").items()
            for exercise in self.exercises(name, "due", name)
        }
        factors = self.factors(late)
        if due and "factors" not in late:
            self.note(
                "there are times and no factors: write [late] with factors = [0.9, 0.5], say, or [] for none", "due"
            )
        for name in late:
            if name not in ("grace", "factors"):
                self.note(f"there is no {name!r} in [late]{near(name, ('grace', 'factors'))}", "late", name)
        return Policy(
            points=self.points(given),
            best=self.best(given),
            due={exercise: at for exercise, at in due.items() if at is not None},
            grace=self.span(late["grace"], "late", "grace") if "grace" in late else timedelta(),
            factors=factors,
            extensions=self.extensions(given),
            groups=self.groups(given),
            pass_mark=mark,
            pass_share=share,
        )

    def table(self, given: Mapping[str, Any], name: str) -> dict[str, Any]:
        value = given.get(name, {})
        if isinstance(value, dict):
            return value
        self.note(f"{name} is a table: write [{name}], and its lines below", name)
        return {}

    def exercises(self, name: str, *path: str | int) -> tuple[str, ...]:
        """The exercises of a name, which is theirs or their chapter's."""
        if name in self.chapters:
            return tuple(self.chapters[name])
        if name in self.worth:
            return (name,)
        self.note(f"there is no exercise and no chapter {name!r}{near(name, [*self.chapters, *self.worth])}", *path)
        return ()

    def number(self, value: Any, most: float, what: str, *path: str | int) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            self.note(f"{value!r} is no {what}: a number from 0 to {most:g} is expected", *path)
            return None
        return float(value)

    def points(self, given: Mapping[str, Any]) -> dict[str, float]:
        found: dict[str, float] = {}
        table = self.table(given, "points")
        for name, value in table.items():
            points = self.number(value, MOST_POINTS, "number of points", "points", name)
            names = self.exercises(name, "points", name)
            both = [exercise for exercise in names if exercise != name and exercise in table]
            if both:
                self.note(f"{name} has points, and so has {both[0]}, which is one of its exercises", "points", name)
            if points is not None and names:
                found |= shared(points, {exercise: self.worth[exercise] for exercise in names})
        return found

    def best(self, given: Mapping[str, Any]) -> tuple[Best, ...]:
        rules = given.get("best", [])
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            self.note("best is a list of tables: write [[best]], with of and count below", "best")
            return ()
        found: list[Best] = []
        taken: set[str] = set()
        for number, rule in enumerate(rules):
            names, count = rule.get("of"), rule.get("count")
            for name in rule:
                if name not in ("of", "count"):
                    self.note(f"there is no {name!r} in [[best]]", "best", number, name)
            if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
                self.note("of is a list of exercises or chapters", "best", number, "of")
                continue
            if isinstance(count, bool) or not isinstance(count, int) or not 0 < count < len(names):
                self.note(
                    f"count is {count!r}; of {len(names)}, some count and some don't: 1 to {len(names) - 1}",
                    "best", number, "count",
                )  # fmt: skip
                continue
            of = {name: self.exercises(name, "best", number, "of") for name in names}
            every = [exercise for exercises in of.values() for exercise in exercises]
            twice = [exercise for exercise in every if exercise in taken or every.count(exercise) > 1]
            if twice or len(of) < len(names):
                self.note(f"{twice[0] if twice else names[0]} is named twice under [[best]]", "best", number, "of")
            taken |= set(every)
            found.append(Best(of, count))
        return tuple(found)

    def factors(self, late: Mapping[str, Any]) -> tuple[float, ...]:
        value = late.get("factors", [])
        if not isinstance(value, list):
            self.note("factors is a list, a number for each day: [0.9, 0.75]", "late", "factors")
            return ()
        numbers = [self.number(factor, 1, "factor", "late", "factors") for factor in value]
        kept = [number for number in numbers if number is not None]
        if any(b > a for a, b in pairwise(kept)):
            self.note("a later day would be worth more than the one before", "late", "factors")
        return tuple(kept)

    def extensions(self, given: Mapping[str, Any]) -> dict[str, dict[str, Longer]]:
        found: dict[str, dict[str, Longer]] = {}
        for student, value in self.table(given, "extensions").items():
            per = value if isinstance(value, dict) else {"": value}
            mine = found.setdefault(key(student), {})
            for name, longer in per.items():
                path = ("extensions", student, name) if name else ("extensions", student)
                names = self.exercises(name, *path) if name else ("",)
                at = self.time(longer, *path) if isinstance(longer, date) else self.span(longer, *path)
                mine |= {exercise: at for exercise in names if at is not None}
        return found

    def groups(self, given: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        group_of: dict[str, str] = {}
        for name, members in self.table(given, "groups").items():
            if not isinstance(members, list) or len(members) < 2 or not all(isinstance(m, str) for m in members):
                self.note('a group is a list of two students or more: ["anna", "ben"]', "groups", name)
                continue
            for member in members:
                other = group_of.setdefault(key(member), name)
                if other != name or sum(key(m) == key(member) for m in members) > 1:
                    self.note(f"{member} is in two groups, or twice in one", "groups", name)
                    break
            found[name] = tuple(members)
        return found

    def pass_mark(self, value: Any) -> tuple[float | None, bool]:
        if value is None:
            return None, False
        if isinstance(value, str):
            percent = re.fullmatch(r"\s*(\d{1,3}(?:\.\d+)?)\s*%\s*", value)
            if percent and float(percent[1]) <= 100:
                return float(percent[1]) / 100, True
            self.note(f'{value!r} is no pass mark: write "50 %", or a number of points without quotes', "pass_mark")
            return None, False
        return self.number(value, MOST_POINTS, "number of points", "pass_mark"), False

    def time(self, value: Any, *path: str | int) -> datetime | None:
        if not isinstance(value, datetime):
            self.note(f"{shown(value)} is no time: write 2026-11-10T23:59:00+01:00, without quotes", *path)
            return None
        if value.year not in YEARS:
            self.note(f"{shown(value)} is far from any course: a year from 1970 to 2999 is expected", *path)
            return None
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)

    def span(self, value: Any, *path: str | int) -> timedelta:
        match = SPAN.fullmatch(value.strip()) if isinstance(value, str) and len(value) < 40 else None
        length = float(match[1]) * UNITS[match[2][0]] if match and float(match[1]) < 1e6 else None
        if length is None or length > LONGEST:
            self.note(f'{shown(value)} is no length of time: write "15 min", "36 hours" or "2 days"', *path)
            return timedelta()
        return length


def shared(points: float, worth: Mapping[str, float]) -> dict[str, float]:
    """Points for several exercises together, in proportion to what each is worth; they add up to the last digit."""
    total = sum(worth.values())
    parts = {exercise: round(points * own / total, 4) for exercise, own in worth.items()}
    last = list(parts)[-1]
    parts[last] = round(points - sum(part for exercise, part in parts.items() if exercise != last), 4)
    return parts


def near(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


def shown(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else repr(value)[:80]
