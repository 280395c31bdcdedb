"""Which trees Landlock opens, and that it opens nothing else."""

from __future__ import annotations

import os

import pytest

from proctor.inside import landlock
from proctor.inside.landlock import EXECUTE, READ_DIR, READ_FILE, grants

needs_landlock = pytest.mark.skipif(not landlock.available()[0], reason=landlock.available()[1])


@pytest.fixture
def tree(tmp_path):
    for name in ("site/torch/a.py", "site/qkv/model/b.py", "site/c.py", "other/d.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_a_tree_without_secrets_is_granted_whole(tree):
    assert list(grants([f"{tree}/site"], [])) == [(f"{tree}/site", READ_FILE | READ_DIR | EXECUTE)]


def test_around_a_secret_everything_else_is_granted_one_by_one(tree):
    whole = READ_FILE | READ_DIR | EXECUTE
    assert list(grants([f"{tree}/site"], [f"{tree}/site/qkv"])) == [
        (f"{tree}/site", READ_DIR),
        (f"{tree}/site/c.py", whole),
        (f"{tree}/site/torch", whole),
    ]


@needs_landlock
def test_what_can_be_read_afterwards(tree):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            landlock.restrict_paths(list(grants([f"{tree}/site"], [f"{tree}/site/qkv"])))
            readable = []
            for folder, _, names in os.walk(tree / "site"):
                for name in names:
                    try:
                        with open(os.path.join(folder, name)) as file:
                            readable.append(file.read())
                    except PermissionError:
                        continue
            assert sorted(readable) == ["site/c.py", "site/torch/a.py"]
            for path in (tree / "other" / "d.py", tree / "site" / "qkv" / "model" / "b.py", "/proc/self/environ"):
                with pytest.raises(PermissionError):
                    open(path)  # noqa: SIM115
            with pytest.raises(PermissionError):
                (tree / "site" / "new.py").write_text("x")
            with pytest.raises(PermissionError):
                os.listdir(tree / "other")
            status = 0
        finally:
            os._exit(status)
    assert os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 0


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_root_becomes_a_user_that_owns_nothing():
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            user = landlock.become_nobody(["/"])
            assert user == os.getuid() == os.geteuid() == landlock.UNUSED_USERS + os.getpid()
            assert os.getgroups() == []
            assert "CapEff:\t0000000000000000" in open("/proc/self/status").read()  # noqa: SIM115
            status = 0
        finally:
            os._exit(status)
    assert os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 0
