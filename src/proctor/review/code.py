"""The code of one answer, for a person to read: the definition with all of the student's that it uses.

It is cut out of what the results keep, or of the submissions themselves, if somebody says where they are. Student code
is text here and nothing else: it is never run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.grading.journal import GradedSubmission
from proctor.marking.answers import Answers
from proctor.marking.extraction import extract_all
from proctor.marking.submission_marker import MOST_CODE
from proctor.marking.submissions import WEIGHTS, File, Submission, digest

CUT = (
    f"The results keep {MOST_CODE:,} characters of each student's code, and this answer is not among them. Name the "
    "folder of submissions with --submissions to see it."
)
NOTHING = "There is no code: nothing that could be read answers this exercise."
CHANGED = "These files are not those that were marked: they have changed since."


@dataclass(frozen=True)
class Code:
    """The text of an answer, where it is from, and what a reader should know about it."""

    text: str
    note: str = ""


def code_of(marked: GradedSubmission, exercise: str, submissions: Mapping[str, Submission]) -> Code:
    """The code of one student's answer.

    Args:
        submissions: student -> the files themselves, where they are known.
    """
    if marked.student in submissions:
        files = submissions[marked.student].load()
        found = answer_in([file for file in files if file.suffix != WEIGHTS], exercise)
        return Code(found or "", (NOTHING if not found else "") if digest(files) == marked.digest else CHANGED)
    found = answer_in([File("answers.py", marked.code.encode("utf-8", "replace"))], exercise)
    return Code(found or "", "" if found else CUT if len(marked.code) >= MOST_CODE else NOTHING)


def answer_in(files: Sequence[File], exercise: str) -> str | None:
    """The definitions behind an answer, in the order of their file; None if no file has one."""
    answers = Answers(extract_all(files))
    file = answers.file_index(exercise)
    if file is None:
        return None
    return "\n\n".join(dict.fromkeys(d.text for d in answers.slice(file, [exercise]).definitions))
