"""Results in the forms that learning management systems import. A new form is a new file here and a line in FORMATS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.report.lms import canvas, gradescope, moodle, plain
from proctor.report.lms.gradebook import Gradebook

FORMATS: dict[str, Callable[[Gradebook, Path], None]] = {
    "gradescope": gradescope.write,
    "canvas": canvas.write,
    "moodle": moodle.write,
    "csv": plain.write,
}


def export(directory: Path, kind: str, out: Path, points: Mapping[str, float], program: str) -> None:
    """Turn the results in `directory` into a file for an LMS.

    Args:
        directory: what grading wrote.
        kind: one of FORMATS.
        out: the file to write.
        points: exercise -> what it is worth.
        program: the package whose command line graded the class; Gradescope runs it over there.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    FORMATS[kind](Gradebook(directory / "results.jsonl", points, program), out)
