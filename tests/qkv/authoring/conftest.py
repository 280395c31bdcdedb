"""A course of two tiny chapters in a folder of its own, with the real book's configuration and look."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from qkv.authoring.build.building import build_editions
from qkv.course import Course, Facts

TINY = Path(__file__).parent / "tiny_course"
FACTS = {"mean": Facts(2.0, ("the statistics module",), effort="about 10 minutes, ●○○"), "Counter": Facts()}


def copy_of_tiny_course(folder: Path, root: Path) -> Course:
    shutil.copytree(TINY, folder, dirs_exist_ok=True)
    shutil.copy(root / "_config.yml", folder)
    shutil.copytree(root / "book" / "_static", folder / "book" / "_static")
    return Course(folder, lambda name: FACTS.get(name, Facts()))


@pytest.fixture
def tiny(tmp_path: Path, root: Path) -> Course:
    """Sources only: nothing has been built."""
    return copy_of_tiny_course(tmp_path / "course", root)


@pytest.fixture(scope="session")
def built_once(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Course:
    """Both editions made. Shared: copy before you change it."""
    course = copy_of_tiny_course(tmp_path_factory.mktemp("built") / "course", root)
    said: list[str] = []
    assert build_editions(course=course, say=said.append) == 0, said
    return course


@pytest.fixture
def built(built_once: Course, tmp_path: Path) -> Iterator[Course]:
    """Both editions made, in a copy that a test may change."""
    shutil.copytree(built_once.root, tmp_path / "built")
    return Course(tmp_path / "built", lambda name: FACTS.get(name, Facts()))
