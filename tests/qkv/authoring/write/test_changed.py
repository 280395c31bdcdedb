"""Which exercises changed: by git, from what a proof rests on, in every kind of clone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from qkv import exercises
from qkv.authoring.write.changed import base, changed_exercises, changed_files

pytestmark = pytest.mark.quick

SOFTMAX = "src/qkv/exercises/lookup/softmax.py"
GIT = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b"}


@pytest.fixture(autouse=True)
def nobodys_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a hook of git's runs the tests, which tells them about its own repository."""
    for name in [name for name in os.environ if name.startswith("GIT_")] + ["QKV_SINCE"]:
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=os.environ | GIT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def commit(folder: Path, *names: str, text: str = "x = 1\n") -> str:
    for name in names:
        write(folder, name, text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "a change")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a branch main of two commits; the second one changed softmax."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, SOFTMAX, "README.md", "answers/heads/wrong/naive.py", text="def split_heads(x): ...\n")
    commit(folder, SOFTMAX)
    return folder


def test_on_a_branch_it_is_all_since_main(repository: Path) -> None:
    git(repository, "checkout", "-qb", "mine")
    assert changed_files(repository) == [SOFTMAX]  # HEAD is main: as on main, below
    commit(repository, "src/qkv/model/scaling.py")
    write(repository, "README.md", "other words")
    write(repository, "answers/heads/right/new.py", "def merge_heads(x): ...\ndef helper(): ...\n")
    assert changed_exercises(repository) == [*exercises.names_of("scaling"), "merge_heads"]


def test_on_main_it_is_what_is_not_committed_or_else_the_last_commit(repository: Path) -> None:
    assert changed_exercises(repository) == ["softmax"]
    write(repository, "src/qkv/exercises/lookup/soft_lookup.py", "x = 2\n")
    assert changed_exercises(repository) == ["soft_lookup"]


def test_a_workflow_knows_since_when(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = git(repository, "rev-parse", "HEAD")
    commit(repository, "src/qkv/exercises/lookup/shared.py")
    commit(repository, "README.md")
    assert changed_exercises(repository) == []
    monkeypatch.setenv("QKV_SINCE", before)
    assert changed_exercises(repository) == list(exercises.names_of("lookup"))
    monkeypatch.setenv("QKV_SINCE", "0" * 40)  # what GitHub says of a branch that is new
    assert changed_exercises(repository) == []


def test_a_clone_compares_with_what_it_was_cloned_from(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repository), "clone")
    clone = tmp_path / "clone"
    commit(clone, "src/qkv/exercises/masks/causal_mask.py")
    assert base(clone) == git(repository, "rev-parse", "main")
    assert changed_exercises(clone) == ["causal_mask"], "committed on the clone's own main"


def test_without_history_nothing_has_changed(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), "shallow")
    assert changed_exercises(tmp_path / "shallow") == []
    write(tmp_path / "shallow", SOFTMAX, "x = 3\n")
    assert changed_exercises(tmp_path / "shallow") == ["softmax"], "but for what is not committed"


def test_a_folder_that_is_no_clone_has_changed_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, SOFTMAX, "x = 1\n")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert changed_exercises(tmp_path) == []
    monkeypatch.setenv("PATH", str(tmp_path))  # nor is there a git
    assert changed_exercises(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "proved"),
    [
        ("src/qkv/exercises/lookup/__init__.py", ()),
        ("src/qkv/exercises/forbidden.py", ()),
        ("src/qkv/model/expect.py", ()),
        ("answers/heads/wrong/broken.py", exercises.names_of("heads")),
        ("answers/capstone/wrong/tiny_gpt-untrained.safetensors", ("tiny_gpt",)),
        ("book/chapters/01_lookup.md", ()),
    ],
)
def test_what_a_file_proves(file: str, proved: tuple[str, ...], repository: Path) -> None:
    commit(repository, file, text="def (")
    assert changed_exercises(repository) == list(proved)


def test_an_answer_that_is_gone_counts_for_its_chapter(repository: Path) -> None:
    (repository / "answers/heads/wrong/naive.py").unlink()
    assert changed_exercises(repository) == list(exercises.names_of("heads"))
