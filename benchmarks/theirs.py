"""nbgrader and otter-grader on the same notebooks, each in an environment of its own outside of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import classroom
from measuring import Run, Scores, measured

Measured = tuple[Run, Scores]
VERSIONS = {"nbgrader": "nbgrader==0.9.6", "otter-grader": "otter-grader==7.0.0"}


def environment(tool: str, home: Path) -> Path:
    """A virtual environment with the tool; torch is linked from ours, since it is what the notebooks import."""
    place = home / f"venv-{tool}"
    if not (place / "ready").exists():
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([place / "bin" / "pip", "install", "-q", VERSIONS[tool]], check=True)
        site = next(place.glob("lib/python*/site-packages"))
        (site / "torch_of_the_course.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (place / "ready").touch()
    return place


def surroundings(place: Path) -> dict[str, str]:
    """The environment's own programs and kernels, one thread as everywhere in the benchmark."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "JUPYTER"))}
    path = f"{place / 'bin'}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {"PATH": path, "OMP_NUM_THREADS": "1", "JUPYTER_PATH": str(place / "share" / "jupyter")}


def nbgrader(home: Path, students: int) -> Measured:
    """`nbgrader autograde` on a class; what it took, and the scores."""
    place = environment("nbgrader", home)
    env = surroundings(place)
    course = home / "nbgrader"
    shutil.rmtree(course, ignore_errors=True)
    source = course / "source" / "ps1"
    source.mkdir(parents=True)
    right = {name: classroom.RIGHT[name] for name in classroom.EXERCISES}
    (source / "ps1.ipynb").write_text(classroom.notebook(right, tests=True), encoding="utf-8")
    (course / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'bench'\n")
    program = place / "bin" / "nbgrader"
    subprocess.run([program, "generate_assignment", "ps1"], cwd=course, env=env, check=True, capture_output=True)
    for number in range(students):
        folder = course / "submitted" / classroom.student_name(number) / "ps1"
        folder.mkdir(parents=True)
        (folder / "ps1.ipynb").write_text(classroom.notebook(classroom.answers(number), tests=True), encoding="utf-8")
    run = measured([program, "autograde", "ps1", "--create"], cwd=course, env=env)
    script = (
        "import json\nfrom nbgrader.api import Gradebook\nbook = Gradebook('sqlite:///gradebook.db')\n"
        "print(json.dumps({s.student.id: {g.name[5:]: g.auto_score for n in s.notebooks for g in n.grades}"
        " for s in book.assignment_submissions('ps1')}))"
    )
    said = subprocess.run(
        [place / "bin" / "python", "-c", script], cwd=course, env=env, check=True, capture_output=True
    )
    return run, json.loads(said.stdout.decode().splitlines()[-1])


def otter(home: Path, students: int) -> Measured:
    """`otter run` on one submission after the other (`otter grade` needs Docker, which costs more)."""
    place = environment("otter-grader", home)
    env = surroundings(place)
    folder = home / "otter"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tests").mkdir(parents=True)
    for name, test in classroom.TESTS.items():
        code = "".join(f">>> {line}\n" for line in test.splitlines())
        case = {"code": code, "hidden": False, "locked": False}
        suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
        text = f"OK_FORMAT = True\ntest = { ({'name': name, 'points': 1, 'suites': [suite]})!r}\n"
        (folder / "tests" / f"{name}.py").write_text(text)
    (folder / "otter_config.json").write_text(json.dumps({"show_hidden": True}))
    program = place / "bin" / "otter"
    words = [program, "generate", "-t", "tests", "-o", "autograder.zip", "-c", "otter_config.json", "--no-environment"]
    subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True)
    total, peak = 0.0, 0.0
    scores: Scores = {}
    for number in range(students):
        work = folder / classroom.student_name(number)
        work.mkdir()
        (work / "ps1.ipynb").write_text(classroom.notebook(classroom.answers(number), tests=False), encoding="utf-8")
        words = [program, "run", "-a", folder / "autograder.zip", "-o", work, "--no-logo", work / "ps1.ipynb"]
        run = measured(words, cwd=work, env=env)
        total, peak = total + run.seconds, max(peak, run.peak_mb)
        found = json.loads((work / "results.json").read_text())
        scores[work.name] = {t["name"].split(" ")[0]: t["score"] for t in found["tests"] if t["name"] != "Public Tests"}
    return Run(total, peak, ""), scores


def warm(tool: str, home: Path, students: int) -> Measured:
    """Once for the caches of the file system, then for the clock."""
    grade = {"nbgrader": nbgrader, "otter-grader": otter}[tool]
    grade(home, 1)
    time.sleep(1)
    return grade(home, students)
