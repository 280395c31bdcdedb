"""`qkv new` writes every piece of an exercise or a chapter, in order, and nothing over what is there."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from proctor import Exercise
from qkv.authoring.build.building import build
from qkv.authoring.write.lint import clashes, form
from qkv.authoring.write.new import bound, new_exercise, pieces, with_import
from qkv.authoring.write.new_chapter import new_chapter, planned
from qkv.course import Course
from qkv.exercises import get_code

EXERCISES = '''"""Exercises."""

from typing import Any

from torch import Tensor

from proctor import Exercise
from qkv.model.tiny import mean

exercise: Any = Exercise(mean, section=str(Tensor))
'''


@pytest.fixture
def course(tiny: Course) -> Course:
    folder = tiny.root / "src" / "qkv" / "exercises"
    folder.mkdir()
    (folder / "tiny.py").write_text(EXERCISES, "utf-8")
    chapter = tiny.chapters(["tiny"])[0].source
    text = chapter.read_text("utf-8")
    if "## What to take away" not in text:
        chapter.write_text(text + "\n## A section\n\nWords.\n\n## What to take away\n\nThis.\n", "utf-8")
    return tiny


def said_by_ruff(course: Course, root: Path, about: str) -> str:
    files = [str(path) for path in course.root.rglob("*.py") if about in path.read_text("utf-8")]
    ours = 'lint.isort.known-first-party=["qkv", "proctor"]'
    words = [sys.executable, "-m", "ruff", "check", "--config", str(root / "pyproject.toml"), "--config", ours, *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


def contents(course: Course) -> dict[str, str]:
    files = (path for path in course.root.rglob("*") if path.suffix in (".py", ".md"))
    return {path.relative_to(course.root).as_posix(): path.read_text("utf-8") for path in files}


def test_all_pieces_are_written(course: Course) -> None:
    before = contents(course)
    said: list[str] = []
    assert new_exercise("doubled", "tiny", course, said.append) == 0
    after = contents(course)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {
        "src/qkv/model/tiny.py",
        "src/qkv/exercises/tiny.py",
        "tests/qkv/model/test_doubled.py",
        "answers/tiny/right/doubled.py",
        "answers/tiny/wrong/doubled.py",
        "book/chapters/01_tiny.md",
    }
    assert said[-1] == "Replace what says TODO, then: qkv lint doubled, qkv build tiny"
    assert {line.removeprefix("  written  ") for line in said[:-1]} == changed
    for name in changed:
        if name.endswith(".py"):
            ast.parse(after[name])
    chapter = after["book/chapters/01_tiny.md"]
    assert chapter.index(":tags: [exercise]\ndoubled\n") < chapter.index("## What to take away")
    exercises = after["src/qkv/exercises/tiny.py"]
    assert all(f"{asked}=" in exercises for asked in ("minutes", "difficulty", "why"))
    assert {"doubled", "doubled_exercise", "normal", "distinct", "mean"} <= bound(exercises)


def test_ruff_has_nothing_to_say_about_them(course: Course, root: Path) -> None:
    assert new_exercise("doubled", "tiny", course, lambda line: None) == 0
    assert said_by_ruff(course, root, "doubled") == ""


def test_the_example_of_the_manual_works(root: Path) -> None:
    manual = (root / "CONTRIBUTING.md").read_text("utf-8")
    name, stem = re.search(r"`qkv new exercise (\w+) --chapter (\w+)`", manual).groups()  # type: ignore[union-attr]
    assert pieces(name, stem, Course(root))


@pytest.mark.parametrize(
    ("name", "stem", "why"),
    [
        ("mean", "tiny", "src/qkv/model/tiny.py has a mean already: take another name."),
        ("Exercise", "tiny", "src/qkv/exercises/tiny.py has a Exercise already: take another name."),
        ("two words", "tiny", "'two words' is no name of a function."),
        ("doubled", "missing", "No chapter missing in book/chapters"),
    ],
)
def test_nothing_is_written_where_it_would_clash(course: Course, name: str, stem: str, why: str) -> None:
    before = contents(course)
    said: list[str] = []
    assert new_exercise(name, stem, course, said.append) == 1
    assert said[0].startswith(why)
    assert contents(course) == before


FIRST_PAGE = """# A tiny course

1. [A tiny chapter](chapters/01_tiny.md): means.
2. [A second chapter](chapters/02_second.md): counts.

## Other digits
"""


def test_a_chapter_stands_wherever_chapters_are_listed(course: Course, root: Path) -> None:
    (course.root / "book" / "index.md").write_text(FIRST_PAGE, "utf-8")
    guide = course.root / "book" / "guides" / "instructors.md"
    guide.parent.mkdir()
    guide.write_text("```{syllabus}\n1: 1\n2: 2\n3: Rest\n```\n\n```{syllabus}\n1: 1, 2\n```\n", "utf-8")
    said: list[str] = []
    assert new_chapter("third", "A third one", course, said.append) == 0
    assert said[-1].startswith("Next: qkv new exercise NAME --chapter third.")
    assert [chapter.name for chapter in course.chapters()] == ["01_tiny", "02_second", "03_third"]
    third = course.chapters(["third"])[0]
    assert (third.title, third.minutes) == ("A third one", 60)
    first_page = (course.root / "book" / "index.md").read_text("utf-8")
    assert first_page.splitlines()[4].startswith("3. [A third one](chapters/03_third.md): TODO")
    assert guide.read_text("utf-8").count("2, 3\n") == 2
    assert (course.root / "book" / "covers" / "third.svg").is_file()
    # an exercise fits in at once, and ruff is content with files that had no import yet
    assert new_exercise("doubled", "third", course, lambda line: None) == 0
    assert said_by_ruff(course, root, "doubled") == ""


def test_a_new_chapter_builds_as_it_is_and_says_what_is_left(course: Course) -> None:
    (course.root / "book" / "index.md").write_text(FIRST_PAGE, "utf-8")
    assert new_chapter("third", "A third one", course, lambda line: None) == 0
    said: list[str] = []
    assert build(["third"], course=course, say=said.append) == 0, said
    assert re.search(r"book/chapters/03_third.md:\d+: \d+ lines of the chapter still say TODO", "\n".join(said))


@pytest.mark.parametrize(
    ("stem", "why"),
    [
        ("tiny", "book/chapters/01_tiny.md exists already: take another stem."),
        ("Two words", "'Two words' cannot be the name of files."),
        ("third", "index.md lists no chapter after which the new one could stand."),
    ],
)
def test_no_chapter_is_written_where_it_would_not_fit(course: Course, stem: str, why: str) -> None:
    before = contents(course)
    said: list[str] = []
    assert new_chapter(stem, "A title", course, said.append) == 1
    assert said[0].startswith(why)
    assert contents(course) == before


def test_what_is_there_of_a_chapter_stays(course: Course) -> None:
    (course.root / "book" / "index.md").write_text(FIRST_PAGE, "utf-8")
    model = course.root / "src" / "qkv" / "model" / "third.py"
    model.write_text("x = 1\n", "utf-8")
    assert new_chapter("third", "A third one", course, lambda line: None) == 0
    assert model.read_text("utf-8") == "x = 1\n"


def test_a_plan_without_numbers_stays() -> None:
    assert planned("1: Rest\n", 3) == "1: Rest\n"


def test_an_import_goes_where_it_belongs() -> None:
    text = "from proctor import Exercise\nfrom qkv.model.tiny import mean\n"
    assert with_import(text, "qkv.model.tiny", "Counter") == text.replace("import mean", "import Counter, mean")
    assert with_import(text, "proctor", "Exercise") == text
    assert (
        with_import(text, "proctor.inside.inputs", "normal").splitlines()[1]
        == "from proctor.inside.inputs import normal"
    )


def test_lint_asks_what_an_exercise_takes_and_why() -> None:
    bare = Exercise(get_code("softmax").reference, section="From scores to weights", hints=["a", "b", "c"])
    asked = "say what it takes and why: minutes=…, difficulty=… (1, 2 or 3) and why=… (what a student has won)"
    assert next((said for said in form(bare) if said.startswith("say")), None) == asked
    assert asked not in list(form(get_code("softmax")))


def test_lint_tells_what_hides_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "tiny.py"
    path.write_text(EXERCISES, "utf-8")
    assert list(clashes(path)) == []
    path.write_text(EXERCISES + "\n\ndef mean(x):\n    return x\n", "utf-8")
    assert list(clashes(path)) == ["tiny.py binds mean in lines 8 and 13: the later one hides the first; rename it"]
