"""nbgrader and otter-grader on the same notebooks, each in an environment of its own outside of the repository.

Each grades a class in one process, and in two that have half of it each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
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


def nbgrader(home: Path, students: int, processes: int) -> Measured:
    """`nbgrader autograde`; each process has a course folder, and so a database, of its own."""
    place = environment("nbgrader", home)
    env = surroundings(place)
    program = place / "bin" / "nbgrader"
    courses = []
    for numbers in shares(students, processes):
        course = home / "nbgrader" / str(len(courses))
        shutil.rmtree(course, ignore_errors=True)
        source = course / "source" / "ps1"
        source.mkdir(parents=True)
        right = {name: classroom.RIGHT[name] for name in classroom.EXERCISES}
        (source / "ps1.ipynb").write_text(classroom.notebook(right, tests=True), encoding="utf-8")
        (course / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'bench'\n")
        subprocess.run([program, "generate_assignment", "ps1"], cwd=course, env=env, check=True, capture_output=True)
        hand_in(course / "submitted", numbers, "ps1", tests=True)
        courses.append(course)
    run = measured([[program, "autograde", "ps1", "--create"] for _ in courses], courses, env)
    script = (
        "import json\nfrom nbgrader.api import Gradebook\nbook = Gradebook('sqlite:///gradebook.db')\n"
        "print(json.dumps({s.student.id: {g.name[5:]: g.auto_score for n in s.notebooks for g in n.grades}"
        " for s in book.assignment_submissions('ps1')}))"
    )
    scores: Scores = {}
    for course in courses:
        words = [place / "bin" / "python", "-c", script]
        said = subprocess.run(words, cwd=course, env=env, check=True, capture_output=True)
        scores |= json.loads(said.stdout.decode().splitlines()[-1])
    return run, scores


OTTER_API = """
import json, sys
from otter.api import grade_submission

found = {}
for path in sys.argv[3:]:
    results = grade_submission(path, sys.argv[1], quiet=True)
    found[path.split("/")[-2]] = {name: r.score for name, r in results.results.items()}
json.dump(found, open(sys.argv[2], "w"))
"""


def otter_api(home: Path, students: int, processes: int) -> Measured:
    """Otter's `grade_submission`, called for one submission after the other in one Python process, or two."""
    place, env, folder = otter_assignment(home)
    commands, outs = [], []
    for number, numbers in enumerate(shares(students, processes)):
        outs.append(folder / f"scores{number}.json")
        notebooks = hand_in(folder / "class", numbers, "", tests=False)
        words = [place / "bin" / "python", "-c", OTTER_API, folder / "autograder.zip", outs[-1], *notebooks]
        commands.append(words)
    run = measured(commands, [folder] * processes, env)
    scores: Scores = {}
    for out in outs:
        scores |= {who: by_exercise(found) for who, found in json.loads(out.read_text()).items()}
    return run, scores


def otter_run(home: Path, students: int, processes: int) -> Measured:
    """`otter run`, a command for each submission (`otter grade` needs Docker, which costs more)."""
    place, env, folder = otter_assignment(home)
    commands = []
    notebooks = []
    for numbers in shares(students, processes):
        share = hand_in(folder / "class", numbers, "", tests=False)
        program = f"'{place / 'bin' / 'otter'}' run -a '{folder / 'autograder.zip'}' --no-logo"
        each = [f"{program} -o '{path.parent}' '{path}'" for path in share]
        commands.append(["sh", "-e", "-c", "\n".join(each)])
        notebooks += share
    run = measured(commands, [folder] * processes, env)
    scores: Scores = {}
    for path in notebooks:
        tests = json.loads((path.parent / "results.json").read_text())["tests"]
        scores[path.parent.name] = by_exercise({t["name"]: t["score"] for t in tests if "score" in t})
    return run, scores


def otter_assignment(home: Path) -> tuple[Path, dict[str, str], Path]:
    """Otter's environment, its variables, and a folder with the autograder in it."""
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
    return place, env, folder


def by_exercise(found: Mapping[str, float]) -> dict[str, float]:
    """Otter's scores under the names of the exercises."""
    return {name.split(" ")[0]: score for name, score in found.items()}


def hand_in(folder: Path, numbers: range, inner: str, tests: bool) -> list[Path]:
    """The notebooks of these students, each in a folder of its own."""
    paths = []
    for number in numbers:
        place = folder / classroom.student_name(number) / inner
        place.mkdir(parents=True, exist_ok=True)
        path = place / "ps1.ipynb"
        path.write_text(classroom.notebook(classroom.answers(number), tests=tests), encoding="utf-8")
        paths.append(path)
    return paths


def shares(students: int, processes: int) -> list[range]:
    """Whose work each process grades."""
    return [range(part, students, processes) for part in range(processes)]


TOOLS = {"nbgrader": nbgrader, "otter-grader, its API": otter_api, "otter run": otter_run}


def warm(tool: str, home: Path, students: int, processes: int) -> Measured:
    """Once for the caches of the file system, then for the clock."""
    TOOLS[tool](home, processes, processes)
    time.sleep(1)
    return TOOLS[tool](home, students, processes)
