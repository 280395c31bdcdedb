"""What a folder of results says about points: the policy, the times and the corrections that lie in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from proctor.collecting import listing
from proctor.collecting.collect import Collected, Student
from proctor.collecting.upload import Who
from proctor.marking.submissions import Class, Submission, in_order, joined_names
from proctor.points import corrections, times_file
from proctor.points import policy as policy_file
from proctor.points.policy import BadPolicy, Policy, read_policy
from proctor.points.scheme import Scheme
from proctor.tables import BadTable, key
from qkv import exercises

POLICY, TIMES = policy_file.NAME, times_file.NAME


class Worth(Mapping[str, float]):
    """Exercise -> the points that it is worth: as somebody says, else by itself, and only then is it imported."""

    def __init__(self, said: Mapping[str, float] | None = None) -> None:
        self.said = said or {}

    def __getitem__(self, name: str) -> float:
        if name not in self:
            raise KeyError(name)
        return self.said[name] if name in self.said else exercises.get(name).points

    def __contains__(self, name: object) -> bool:
        return name in exercises.names()

    def __iter__(self) -> Iterator[str]:
        return iter(exercises.names())

    def __len__(self) -> int:
        return len(exercises.names())


def policy_beside(submissions: Path) -> Path | None:
    """The policy that lies beside a class: its folder may come from the LMS, and what is inside from students."""
    path = submissions.resolve().parent / POLICY
    return path if path.is_file() else None


def keep_copies(results: Path, given: Mapping[str, Path | None]) -> None:
    """Leave copies of the instructor's files in the results, where exports find them."""
    for name, path in given.items():
        if path is not None and path.resolve() != (results / name).resolve():
            shutil.copyfile(path, results / name)


def read_scheme(results: Path, policy: Path | None = None, times: Path | None = None) -> Scheme:
    """How scores become points for these results; other files may take the place of those that lie there.

    Raises:
        click.UsageError: one of the files has a mistake.
    """
    own = Worth()
    chapters = {stem: exercises.names_of(stem) for stem in exercises.CHAPTERS}
    chapters = {stem: names for stem, names in chapters.items() if names}
    policy, times = policy or results / POLICY, times or results / TIMES
    try:
        rules = read_policy(policy, own, chapters) if policy.exists() else Policy()
        corrected = corrections.read(results / corrections.NAME, Worth(rules.points))
        listed = listing.read_listing(results / listing.NAME)
        given = times_file.read_times(times) if times.exists() else {}
    except (BadPolicy, corrections.BadCorrections, BadTable) as error:
        raise click.UsageError(str(error)) from None
    return Scheme(own, corrected, rules, handed_in(listed, given))


def handed_in(listed: list[listing.Listed], given: Mapping[str, datetime]) -> dict[str, datetime]:
    """Student -> when it was handed in: as the instructor says, else as the LMS does; in a group, its upload."""
    times = {key(one.person.folder): one.at for one in listed if one.at is not None}
    times |= {key(student): at for student, at in given.items()}
    own = {key(student) for student in given}
    for one in listed:
        if one.same_as and key(one.person.folder) not in own:
            times.pop(key(one.person.folder), None)
            times |= {key(one.person.folder): times[key(one.same_as)]} if key(one.same_as) in times else {}
    return times


def in_groups(collected: Collected, scheme: Scheme, say: Callable[[str], None]) -> Collected:
    """The class with each group's submission as that of each of its members."""
    if not scheme.policy.groups:
        return collected
    submissions = {submission.student: submission for submission in collected.submissions.submissions}
    students = {student.who.folder: student for student in collected.students}
    spelled = {key(student): student for student in submissions}
    for name, members in scheme.policy.groups.items():
        group = [spelled.get(key(member), member) for member in members]
        there = [submissions[member] for member in group if member in submissions]
        source = newest(there, scheme.times)
        if there and source is None:
            names = joined_names([submission.student for submission in there], len(there))
            say(f"Group {name}: {names} each handed in, and no times tell which is the newest. Each keeps their own.")
        elif source is not None:
            others = [member for member in group if member != source.student]
            say(f"Group {name}: what {source.student} handed in counts for {joined_names(others, len(others))} too.")
            for member in others:
                mine = students.get(member) or Student(Who(member), ())
                submissions[member] = replace(source, student=member)
                students[member] = replace(students[source.student], who=mine.who, same_as=source.student)
    order = sorted(submissions, key=in_order)
    listed = Class([submissions[student] for student in order], collected.submissions.ignored)
    return replace(collected, submissions=listed, students=[students[student] for student in order])


def newest(submissions: list[Submission], times: Mapping[str, datetime]) -> Submission | None:
    """The newest submission of a group; None if that cannot be told."""
    if len(submissions) < 2:
        return submissions[0] if submissions else None
    handed_in = [times.get(key(submission.student)) for submission in submissions]
    known = [at for at in handed_in if at is not None]
    if len(known) < len(submissions) or known.count(max(known)) > 1:
        return None
    return submissions[known.index(max(known))]
