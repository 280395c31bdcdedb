"""`qkv update`: what a student wrote is there afterwards, in its place and in a dated copy, however often it runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from qkv.commands import update
from qkv.commands.carry import carry
from qkv.commands.cli import main
from qkv.commands.update import update_course
from qkv.notebook import workspace

STUB = 'def {}(x):\n    """Do it."""\n    raise NotImplementedError'
NAME = "notebooks/01_lookup.ipynb"


def cell(source: str, identity: str = "", exercise: bool = False, kind: str = "code") -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "metadata": {"tags": ["exercise"]} if exercise else {}, "source": source}
    if identity:
        made["id"] = identity
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def notebook(*cells: dict[str, Any]) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def edition(text: str = "Read this.", names: Iterable[str] = ("softmax", "lookup")) -> dict[str, Any]:
    cells = [cell(text, f"text-{len(text)}", kind="markdown"), cell("import torch", "setup")]
    for name in names:
        cells += [cell(STUB.format(name), name, exercise=True), cell(f"check({name})", f"check-{name}")]
    return notebook(*cells)


def sources(made: dict[str, Any]) -> list[str]:
    return [c["source"] for c in made["cells"]]


MINE = "def softmax(x):\n    return x.exp()"


def test_an_answer_comes_into_the_new_edition_by_its_name() -> None:
    mine = edition()
    mine["cells"][2] |= {"source": MINE, "outputs": ["a figure"], "execution_count": 7}
    new = edition("Read this first.", names=("scores", "softmax", "lookup"))
    carried = carry(mine, edition(), new)
    assert carried.answers == ["softmax"]
    expected = sources(new)
    expected[4] = MINE
    assert sources(carried.notebook) == expected
    assert carried.notebook["cells"][4]["outputs"] == ["a figure"]


def test_an_editor_that_drops_ids_changes_nothing() -> None:
    mine = edition()
    mine["cells"][2]["source"] = MINE
    for one in mine["cells"]:
        one.pop("id")
    carried = carry(mine, edition(), edition("Another text."))
    assert carried.answers == ["softmax"]
    assert carried.cells == 0
    assert len(carried.notebook["cells"]) == 6


def test_cells_of_their_own_stay_where_they_were() -> None:
    mine = edition()
    mine["cells"].insert(3, cell("my_notes = 1", "abc"))
    mine["cells"].insert(0, cell("My title", "def", kind="markdown"))
    carried = carry(mine, edition(), edition("Another text."))
    found = sources(carried.notebook)
    assert found[0] == "My title"
    assert found[found.index("my_notes = 1") - 1] == STUB.format("softmax")
    assert carried.cells == 2


def test_an_answer_whose_exercise_is_gone_and_a_changed_cell_are_not_lost() -> None:
    mine = edition()
    mine["cells"][2]["source"] = MINE
    mine["cells"][1]["source"] = "import torch, math"
    new = edition(names=("lookup",))
    new["cells"][1] |= {"source": "import torch  # newer", "id": "setup"}
    carried = carry(mine, edition(), new)
    found = sources(carried.notebook)
    assert {"import torch  # newer", "import torch, math", MINE} <= set(found)
    ids = [c["id"] for c in carried.notebook["cells"]]
    assert len(set(ids)) == len(ids)


def test_what_nobody_changed_is_the_new_edition() -> None:
    new = edition("Another text.")
    assert carry(edition(), edition(), new).notebook == new


# ---- with git


class Clone:
    def __init__(self, upstream: Path, folder: Path) -> None:
        self.upstream, self.folder = upstream, folder
        self.said: list[str] = []

    def publish(self, made: dict[str, Any], **files: str) -> None:
        commit(self.upstream, {NAME: text_of(made), **files})

    @property
    def notebook(self) -> Path:
        return self.folder / NAME

    def work(self, position: int, source: str) -> None:
        made = json.loads(self.notebook.read_text())
        made["cells"][position]["source"] = source
        self.notebook.write_text(text_of(made))

    def update(self, **options: Any) -> int:
        self.said.clear()
        return update_course(workspace.of_clone(self.folder), say=self.said.append, **options)

    def copies(self) -> list[Path]:
        return sorted((self.folder / "kept").glob("*/01_lookup.ipynb"))


def text_of(made: dict[str, Any]) -> str:
    return json.dumps(made, indent=1) + "\n"


def run(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "-C", str(folder), *author, *words], check=True, capture_output=True)


def commit(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    run(folder, "add", ".")
    run(folder, "commit", "-m", "An edition")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    run(upstream, "init", "--initial-branch=main")
    commit(upstream, {NAME: text_of(edition()), "_toc.yml": "", ".gitignore": "kept/\n.qkv/\n", "README.md": "1"})
    run(tmp_path, "clone", str(upstream), "clone")
    return Clone(upstream, tmp_path / "clone")


def test_three_updates_in_a_row_lose_nothing(clone: Clone) -> None:
    """The recipe that this command replaces lost all work at its second use."""
    for number in range(1, 4):
        clone.work(2, f"def softmax(x):\n    return {number}")
        if number == 2:
            clone.work(4, "def lookup(x):\n    return x")
        clone.publish(edition(f"Edition {'I' * number}."))
        assert clone.update() == 0, clone.said
        found = sources(json.loads(clone.notebook.read_text()))
        assert found[0] == f"Edition {'I' * number}."
        assert found[2] == f"def softmax(x):\n    return {number}"
        assert len(clone.copies()) == number
    assert sources(json.loads(clone.notebook.read_text()))[4] == "def lookup(x):\n    return x"
    assert [f"return {n}" in copy.read_text() for n, copy in enumerate(clone.copies(), 1)] == [True] * 3
    assert any("softmax, lookup carried over" in line for line in clone.said)


def test_without_news_the_notebook_stays_as_it_is_to_the_byte(clone: Clone) -> None:
    clone.work(2, MINE)
    before = clone.notebook.read_bytes()
    assert clone.update() == clone.update() == clone.update(pull=False) == 0
    assert clone.notebook.read_bytes() == before
    assert "nothing was changed" in clone.said[-1]
    assert not clone.copies()  # there was nothing to keep them from


def test_who_has_not_worked_just_gets_the_new_edition(clone: Clone) -> None:
    clone.publish(edition("News."))
    assert clone.update() == 0
    assert clone.notebook.read_text() == text_of(edition("News."))
    assert not clone.copies()


def test_if_git_cannot_go_on_everything_is_as_it_was(clone: Clone) -> None:
    clone.work(2, MINE)
    (clone.folder / "README.md").write_text("mine")
    before = clone.notebook.read_bytes()
    clone.publish(edition("News."), **{"README.md": "2"})
    assert clone.update() == 1
    assert "your notebooks are as they were" in clone.said[-1]
    assert "README.md" in clone.said[-1]
    assert clone.notebook.read_bytes() == before
    assert (clone.folder / "README.md").read_text() == "mine"


def test_notebooks_of_their_own_and_broken_ones(clone: Clone) -> None:
    (clone.folder / "notebooks" / "scratch.ipynb").write_text("mine alone")
    clone.notebook.write_text("{ broken, with my work")
    clone.publish(edition("News."))
    assert clone.update() == 1
    assert (clone.folder / "notebooks" / "scratch.ipynb").read_text() == "mine alone"
    assert clone.copies()[0].read_text() == "{ broken, with my work"
    assert any("could not be read as a notebook" in line for line in clone.said)


def test_after_a_pull_by_hand(clone: Clone) -> None:
    clone.work(2, MINE)
    worked = clone.notebook.read_text()
    clone.publish(edition("News."))
    run(clone.folder, "checkout", "notebooks")
    run(clone.folder, "pull")
    clone.notebook.write_text(worked)
    assert clone.update(pull=False) == 0, clone.said
    assert sources(json.loads(clone.notebook.read_text()))[::2] == ["News.", MINE, STUB.format("lookup")]


def test_outside_of_a_clone_the_command_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_toc.yml").touch()
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["update"])
    assert result.exit_code == 1
    assert "is not a clone made by git" in result.output


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> workspace.Workspace:
    """A workspace of a course that pip installed, begun with its first edition."""
    packed = tmp_path / "site-packages" / "edition"
    (packed / "notebooks").mkdir(parents=True)
    (packed / "notebooks" / "01_lookup.ipynb").write_text(text_of(edition()))
    (packed / "notebooks" / "02_scaling.ipynb").write_text(text_of(edition("Two.")))
    for module in (workspace, update):
        monkeypatch.setattr(module, "PACKED", packed)
    (tmp_path / "course").mkdir()
    place = workspace.of_folder(tmp_path / "course")
    assert workspace.begin(place)
    assert not workspace.begin(place)
    return place


def test_an_installed_course_is_updated_by_pip_and_keeps_the_answers(installed: workspace.Workspace) -> None:
    said: list[str] = []
    assert update_course(installed, pull=False, say=said.append) == 0
    assert "the edition that is installed" in said[-1]
    mine = edition()
    mine["cells"][2]["source"] = MINE
    (installed.notebooks / "01_lookup.ipynb").write_text(text_of(mine))
    (installed.notebooks / "scratch.ipynb").write_text("mine alone")
    newest = workspace.PACKED / "notebooks"
    (newest / "01_lookup.ipynb").write_text(text_of(edition("News.")))
    (newest / "02_scaling.ipynb").write_text(text_of(edition("Two, news.")))
    (newest / "03_heads.ipynb").write_text(text_of(edition("Three.")))
    assert workspace.has_newer_edition(installed)
    for _ in range(2):  # the second time there is nothing to do
        assert update_course(installed, pull=False, say=said.append) == 0, said
    found = sources(json.loads((installed.notebooks / "01_lookup.ipynb").read_text()))
    assert found[::2] == ["News.", MINE, STUB.format("lookup")]
    assert "Two, news." in (installed.notebooks / "02_scaling.ipynb").read_text()
    assert "Three." in (installed.notebooks / "03_heads.ipynb").read_text()
    assert (installed.notebooks / "scratch.ipynb").read_text() == "mine alone"
    (copy,) = (installed.root / "kept").glob("*/01_lookup.ipynb")
    assert copy.read_text() == text_of(mine)


def test_a_folder_that_has_other_notebooks_is_left_alone(tmp_path: Path, installed: workspace.Workspace) -> None:
    (tmp_path / "other" / "notebooks").mkdir(parents=True)
    with pytest.raises(workspace.NoWorkspace, match="not from this course"):
        workspace.begin(workspace.of_folder(tmp_path / "other"))
    assert not list((tmp_path / "other" / "notebooks").iterdir())
