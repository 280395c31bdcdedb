"""The autograder for Gradescope: two scripts and our packages, which it unpacks into /autograder/source."""

from __future__ import annotations

import importlib.util
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path
from string import Template

STAMP = (2000, 1, 1, 0, 0, 0)  # the same content gives the same file
LEFT_OUT = {"__pycache__", "edition"}  # the second: pages and notebooks, which an installed program may carry

SETUP = Template("""\
#!/usr/bin/env bash
# Runs once, when Gradescope builds the autograder's image. Grading needs Python 3.11 or newer, and torch.
set -eu
apt-get update
apt-get install -y --no-install-recommends python3 python3-venv
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Choose an image with Python 3.11 or newer (Ubuntu 24.04 has 3.12)." >&2
  exit 1
}
python3 -m venv /autograder/venv
# torch's CPU build is a tenth of the default one: set PIP_EXTRA_INDEX_URL to where torch.org says it is kept.
/autograder/venv/bin/pip install --no-cache-dir $requirements
""")

RUN = Template("""\
#!/usr/bin/env bash
# Runs for each submission: grade a class of one. When this fails there is no results.json, and Gradescope reports that
# the autograder failed, which is the truth; the student gets no zero for it.
set -eu
export PYTHONPATH=/autograder/source OMP_NUM_THREADS=1
work=$$(mktemp -d)
mkdir -p "$$work/class" /autograder/results
cp -r /autograder/submission "$$work/class/submission"
# two commands in one process: torch is loaded once. -P: nothing is imported from the current folder, whichever it is
/autograder/venv/bin/python -P - "$$work" <<'END'
import runpy
import sys

work = sys.argv[1]
grade = ["grade", f"{work}/class", "--out", f"{work}/graded", "--form", "folders"]  # whatever a student hands in
grade += ["--jobs", "1", "--timeout", "60", "--memory", "512"]
export = ["export", f"{work}/graded", "--format", "gradescope", "--out", "/autograder/results/results.json"]
for command in ([*grade, "--exercises", "$exercises"], export):
    sys.argv = ["$program", *command]
    try:
        runpy.run_module("$program", run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
END
""")


def autograder(program: str, exercises: Sequence[str]) -> bytes:
    """A zip with setup.sh and run_autograder at its root.

    Args:
        program: the package that is run over there; this one goes with it.
        exercises: what to grade.
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        add(archive, "setup.sh", SETUP.substitute(requirements=" ".join(requirements(program))), executable=True)
        add(archive, "run_autograder", RUN.substitute(program=program, exercises=",".join(exercises)), executable=True)
        for package in (program, __name__.partition(".")[0]):
            for name, path in files_of(package):
                add(archive, name, path.read_bytes())
    return stream.getvalue()


def requirements(program: str) -> Iterator[str]:
    """The program's dependencies without its extras, pinned to the versions installed here."""
    lines = [line for name in packages_distributions().get(program, ()) for line in requires(name) or ()]
    named = [(found[0], "extra ==" in line) for line in lines if (found := re.match(r"[\w.-]+", line))]
    optional = {
        name for name, of_extra in named if of_extra
    }  # a wheel for learners needs some extras: a grader does not
    for name in dict.fromkeys(name for name, _ in named if name not in optional):
        try:
            yield f"{name}=={version(name).split('+')[0]}"
        except PackageNotFoundError:
            yield name


def files_of(package: str) -> Iterator[tuple[str, Path]]:
    spec = importlib.util.find_spec(package)
    home = Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()
    for path in sorted(home.rglob("*")):
        if path.is_file() and LEFT_OUT.isdisjoint(path.relative_to(home).parts):
            yield f"{package}/{path.relative_to(home).as_posix()}", path


def add(archive: zipfile.ZipFile, name: str, content: str | bytes, executable: bool = False) -> None:
    """Put one file into a zip, without the time of day."""
    entry = zipfile.ZipInfo(name, STAMP)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(entry, content)
