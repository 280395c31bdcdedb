"""`qkv new exercise`: write the pieces of an exercise, each in its place, for an author to fill in.

What is written runs and is proved as it stands, but for the mistakes and words that only its author knows: those say
TODO, and `qkv lint` complains until none is left. A name in CapWords makes a class, any other a function.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from qkv.authoring.write import scaffold
from qkv.authoring.write.sample_answers import defined_in
from qkv.course import AuthoringError, Chapter, Course

MARK = "TODO"
CLOSING = "## What to take away"  # a new exercise comes before it


def new_exercise(
    name: str,
    stem: str,
    arguments: Sequence[str] = (),
    course: Course | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Write the pieces of an exercise at the end of a chapter.

    Args:
        name: of the function or class that students will write.
        stem: of the chapter.
        arguments: names of the tensors that it takes; `x` unless said.

    Returns:
        0, or 1 when it cannot be written; then nothing is.
    """
    try:
        course = course or Course.here()
        written = exercise_pieces(name, stem, arguments or ("x",), course)
    except AuthoringError as error:
        say(str(error))
        return 1
    write_pieces(written, course, say)
    sort_imports(path for path in written if path.suffix == ".py")
    say(f"Replace what says {MARK}, then: qkv lint {name}, qkv build {stem}")
    return 0


def write_pieces(pieces: dict[Path, str], course: Course, say: Callable[[str], None]) -> None:
    """Write files, and say which."""
    for path, text in pieces.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        say(f"  written  {path.relative_to(course.root).as_posix()}")


def sort_imports(paths: Iterable[Path]) -> None:
    """Sort, merge and format the imports of changed files by ruff."""
    names = [str(path) for path in paths]
    ruff = [sys.executable, "-m", "ruff"]
    for words in (["check", "--quiet", "--fix", "--select", "I"], ["format", "--quiet"]):
        subprocess.run([*ruff, *words, "--force-exclude", *names], capture_output=True, check=False)


def exercise_pieces(name: str, stem: str, arguments: Sequence[str], course: Course) -> dict[Path, str]:
    """File -> its text with the new exercise in it."""
    chapter = course.chapters([stem])[0]
    for word in (name, *arguments):
        if not word.isidentifier():
            raise AuthoringError(f"{word!r} is no name in Python. For example: qkv new exercise nearest_key q k")
    if chapter.model.is_file() and name in defined_in(chapter.model):
        where = chapter.model.relative_to(course.root).as_posix()
        raise AuthoringError(f"{where} has a {name} already: take another name.")
    source, section = with_exercise_cell(chapter, name)
    texts = scaffold.texts(name, chapter.stem, arguments, section)
    package = course.root / "src" / "qkv" / "exercises" / chapter.stem
    answers = course.root / "answers" / chapter.stem
    tests = course.root / "tests" / "qkv" / "model" / f"test_{chapter.stem}.py"
    found = {
        package / f"{name}.py": texts.exercise,
        answers / "right" / f"{name}.py": texts.right,
        answers / "wrong" / f"{name}.py": texts.wrong,
    }
    for path in found:
        if path.exists():
            raise AuthoringError(f"{path.relative_to(course.root).as_posix()} exists already: take another name.")
    return {
        chapter.model: appended(read_chapter_file(chapter.model), texts.model_imports, texts.model),
        package / "__init__.py": with_listed_exercise(read_chapter_file(package / "__init__.py"), name),
        tests: appended(
            read_chapter_file(tests) if tests.is_file() else texts.test_head, texts.test_imports, texts.test
        ),
        **found,
        chapter.source: source,
    }


def read_chapter_file(path: Path) -> str:
    """The text of a file that a chapter has."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise AuthoringError(f"There is no {path.name} in {path.parent}: a chapter comes first.") from None


def with_listed_exercise(package: str, name: str) -> str:
    """The text of a chapter's `__init__.py` with one more exercise at the end of its list."""
    found = re.search(r"^EXERCISES(?:: [^=]+)? = \((.*?)\)", package, re.MULTILINE | re.DOTALL)
    if found is None:
        raise AuthoringError("The chapter's __init__.py lists no exercises: it should have EXERCISES = (…).")
    names = [*re.findall(r'"(\w+)"', found[1]), name]
    lines = "".join(f'    "{each}",\n' for each in names)
    return f"{package[: found.start()]}EXERCISES = (\n{lines}){package[found.end() :]}"


def with_exercise_cell(chapter: Chapter, name: str) -> tuple[str, str]:
    """The chapter with a cell for the exercise before its closing, and the section in which that is."""
    text = read_chapter_file(chapter.source)
    before, closing, after = text.partition(f"\n{CLOSING}\n")
    sections = re.findall(r"^##+ (.+)$", before, re.MULTILINE)
    if not closing or not sections:
        raise AuthoringError(f"{chapter.where()} needs a section, and after it {CLOSING!r}: the exercise goes between.")
    return f"{before.rstrip()}\n\n{scaffold.CELL.format(name=name)}{CLOSING}\n{after}", sections[-1].strip()


def appended(module: str, imports: str, code: str) -> str:
    """The text of a module with code at its end and its imports at the top; ruff merges those (`sort_imports`)."""
    first = [node for node in ast.parse(module).body if isinstance(node, ast.Import | ast.ImportFrom)]
    future = [node.end_lineno or 0 for node in first if getattr(node, "module", "") == "__future__"]
    at = future[0] if future else first[0].lineno - 1 if first else len(module.splitlines())
    lines = module.splitlines()
    return "\n".join([*lines[:at], "", imports, *lines[at:]]).rstrip() + f"\n\n\n{code}"
