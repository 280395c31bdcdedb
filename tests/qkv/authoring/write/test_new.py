"""`qkv new` writes every piece of an exercise or a chapter, in order, and nothing over what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from runpy import run_path

import pytest

from proctor import Examiner, Exercise
from proctor.examining.mutate import survey
from qkv import exercises
from qkv.authoring.build.building import build_editions
from qkv.authoring.write.lint import clashes, out_of_order, shapes, static_complaints
from qkv.authoring.write.new import exercise_pieces, new_exercise
from qkv.authoring.write.new_chapter import new_chapter, with_planned_chapter
from qkv.course import Course
from qkv.exercises import get_code

PACKAGE = '''"""Exercises of the chapter `tiny`, in the order in which a student meets them."""

EXERCISES = ("mean",)
'''


@pytest.fixture
def course(tiny: Course, root: Path) -> Course:
    style = (root / "pyproject.toml").read_text("utf-8")
    ours = '[tool.ruff.lint.isort]\nknown-first-party = ["qkv", "proctor"]\n'  # here, proctor is not beside qkv
    (tiny.root / "pyproject.toml").write_text(f"{style}\n{ours}", "utf-8")
    model = tiny.root / "src" / "qkv" / "model" / "tiny.py"
    own = re.search(r"def expects.*?\n\n\n", text := model.read_text("utf-8"), re.DOTALL)
    assert own is not None
    real = "from qkv.model.expect import expects\n"  # what scaffolds import, instead of a stand-in of its name
    model.write_text(
        text.replace(own[0], real).replace("from collections.abc import Callable\nfrom typing import Any\n", ""),
        "utf-8",
    )
    folder = tiny.root / "src" / "qkv" / "exercises" / "tiny"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE, "utf-8")
    chapter = tiny.chapters(["tiny"])[0].source
    text = chapter.read_text("utf-8")
    if "## What to take away" not in text:
        chapter.write_text(text + "\n## A section\n\nWords.\n\n## What to take away\n\nThis.\n", "utf-8")
    return tiny


def said_by_ruff(course: Course, about: str) -> str:
    files = [str(path) for path in course.root.rglob("*.py") if about in path.read_text("utf-8")]
    words = [sys.executable, "-m", "ruff", "check", *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


def contents(course: Course) -> dict[str, str]:
    files = (path for path in course.root.rglob("*") if path.suffix in (".py", ".md"))
    return {path.relative_to(course.root).as_posix(): path.read_text("utf-8") for path in files}


NEW = [("doubled", ()), ("summed", ("q", "k")), ("Doubled", ("x",)), ("Summed", ("q", "k"))]
new = pytest.mark.parametrize(("name", "arguments"), NEW)


@new
def test_all_pieces_are_written(course: Course, name: str, arguments: tuple[str, ...]) -> None:
    before = contents(course)
    said: list[str] = []
    assert new_exercise(name, "tiny", arguments, course, said.append) == 0
    after = contents(course)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {
        "src/qkv/model/tiny.py",
        "src/qkv/exercises/tiny/__init__.py",
        f"src/qkv/exercises/tiny/{name}.py",
        "tests/qkv/model/test_tiny.py",
        f"answers/tiny/right/{name}.py",
        f"answers/tiny/wrong/{name}.py",
        "book/chapters/01_tiny.md",
    }
    assert said[-1] == f"Replace what says TODO, then: qkv lint {name}, qkv build tiny"
    assert {line.removeprefix("  written  ") for line in said[:-1]} == changed
    chapter = after["book/chapters/01_tiny.md"]
    assert chapter.index(f":tags: [exercise]\n{name}\n") < chapter.index("## What to take away")
    exercise = after[f"src/qkv/exercises/tiny/{name}.py"]
    assert all(f"{asked}=" in exercise for asked in ("minutes", "difficulty", "why"))
    names: dict[str, object] = {}
    exec(after["src/qkv/exercises/tiny/__init__.py"], names)
    assert names["EXERCISES"] == ("mean", name)


@new
def test_ruff_has_nothing_to_say_about_them(course: Course, name: str, arguments: tuple[str, ...]) -> None:
    assert new_exercise(name, "tiny", arguments, course, lambda line: None) == 0
    assert said_by_ruff(course, name) == ""


@new
def test_what_is_written_runs(course: Course, name: str, arguments: tuple[str, ...]) -> None:
    """The reference passes its own test and its own probes, and so does the right answer; the wrong one does not."""
    assert new_exercise(name, "tiny", arguments, course, lambda line: None) == 0
    spec = spec_from_file_location("scaffolded", course.root / "src" / "qkv" / "model" / "tiny.py")
    assert spec is not None
    assert spec.loader is not None
    model = sys.modules["scaffolded"] = module_from_spec(spec)  # whose text can be read: it is damaged, line by line
    spec.loader.exec_module(model)
    names = dict(vars(model))
    for path in (f"src/qkv/exercises/tiny/{name}.py", "tests/qkv/model/test_tiny.py"):
        text = (course.root / path).read_text("utf-8")
        exec(compile(re.sub(r"from qkv.model.tiny import .*\n", "", text), path, "exec"), names)
    names[f"test_{name}_agrees_with_a_loop"]()
    exercise = names["exercise"]
    assert Examiner(exercise).examine(exercise.reference).state == "passed"
    assert survey(exercise, Examiner(exercise)).share == 1
    assert not list(shapes(exercise))
    for kind, state in (("right", "passed"), ("wrong", "not_yet")):
        answer = run_path(str(course.root / "answers" / "tiny" / kind / f"{name}.py"))[name]
        assert Examiner(exercise).examine(answer).state == state


def test_the_example_of_the_manual_works(root: Path) -> None:
    manual = (root / "CONTRIBUTING.md").read_text("utf-8")
    name, words, stem = re.search(r"qkv new exercise (\w+)((?: \w+)*) --chapter (\w+)", manual).groups()  # type: ignore
    assert exercise_pieces(f"{name}_again", stem, words.split(), Course(root))  # somebody may have followed it


@pytest.mark.parametrize(
    ("name", "stem", "why"),
    [
        ("mean", "tiny", "src/qkv/model/tiny.py has a mean already: take another name."),
        ("two words", "tiny", "'two words' is no name in Python."),
        ("doubled", "missing", "No chapter missing in book/chapters"),
    ],
)
def test_nothing_is_written_where_it_would_clash(course: Course, name: str, stem: str, why: str) -> None:
    before = contents(course)
    said: list[str] = []
    assert new_exercise(name, stem, (), course, said.append) == 1
    assert said[0].startswith(why)
    assert contents(course) == before


FIRST_PAGE = """# A tiny course

1. [A tiny chapter](chapters/01_tiny.md): means.
2. [A second chapter](chapters/02_second.md): counts.

## Other digits
"""


def test_a_chapter_stands_wherever_chapters_are_listed(course: Course) -> None:
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
    assert new_exercise("doubled", "third", (), course, lambda line: None) == 0
    assert said_by_ruff(course, "doubled") == ""


def test_a_new_chapter_builds_as_it_is_and_says_what_is_left(course: Course) -> None:
    (course.root / "book" / "index.md").write_text(FIRST_PAGE, "utf-8")
    assert new_chapter("third", "A third one", course, lambda line: None) == 0
    said: list[str] = []
    assert build_editions(["third"], course=course, say=said.append) == 0, said
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
    assert with_planned_chapter("1: Rest\n", 3) == "1: Rest\n"


def test_lint_asks_what_an_exercise_takes_and_why() -> None:
    bare = Exercise(get_code("softmax").reference, section="From scores to weights", hints=["a", "b", "c"])
    asked = "say what it takes and why: minutes=…, difficulty=… (1, 2 or 3) and why=… (what a student has won)"
    assert next((said for said in static_complaints(bare) if said.startswith("say")), None) == asked
    assert asked not in list(static_complaints(get_code("softmax")))


def test_lint_tells_what_hides_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "mean.py"
    text = "from proctor import Exercise\nfrom qkv.model.tiny import mean\n\nexercise = Exercise(mean)\n"
    path.write_text(text, "utf-8")
    assert list(clashes(path)) == []
    path.write_text(f"{text}\n\ndef mean(x):\n    return x\n", "utf-8")
    assert list(clashes(path)) == ["mean.py binds mean in lines 2 and 7: the later one hides the first; rename it"]


def test_lint_tells_of_exercises_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert out_of_order("lookup") == ()
    out_of_order.cache_clear()
    monkeypatch.setattr(exercises, "names_of", lambda stem: ("soft_lookup", "softmax"))
    (said,) = out_of_order("lookup")
    assert said.startswith("src/qkv/exercises/lookup/__init__.py lists soft_lookup, softmax; the chapter has softmax, ")
    out_of_order.cache_clear()
