"""The two commands on machines that lack something: they say what, and what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder of programs, for PATH: what every system has, and neither Chromium nor bubblewrap."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "env", "uname", "id", "mktemp", "rm", "cat"):
        (programs / name).symlink_to(str(shutil.which(name)))
    return programs


def put(programs: Path, name: str, script: str) -> None:
    path = programs / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def tools(programs: Path, *packages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / ".ci" / "tools", *packages], env={"PATH": str(programs)}, capture_output=True, text=True, check=False
    )


def test_nothing_happens_when_all_is_there(bare: Path) -> None:
    for name in ("chromium", "bwrap"):
        put(bare, name, "exit 0")
    done = tools(bare, "chromium", "bubblewrap")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_as_root_apt_installs_what_is_missing(bare: Path, tmp_path: Path) -> None:
    put(bare, "bwrap", "exit 0")
    put(bare, "id", "echo 0")
    put(bare, "apt-get", f'echo "$@" >> {tmp_path}/asked')
    assert tools(bare, "chromium", "bubblewrap").returncode == 0
    assert (tmp_path / "asked").read_text().splitlines() == ["update", "install -y --no-install-recommends chromium"]


def test_an_ordinary_user_gets_the_command(bare: Path) -> None:
    put(bare, "id", "echo 1000")
    put(bare, "apt-get", "exit 1")
    put(bare, "uname", "echo Linux")
    done = tools(bare, "chromium", "bubblewrap")
    assert done.returncode == 1
    command = "sudo apt-get update && sudo apt-get install -y chromium bubblewrap"
    assert done.stderr == f"Missing: chromium bubblewrap. Run: {command}\n"


def test_on_a_mac_it_names_what_is_missing(bare: Path) -> None:
    put(bare, "uname", "echo Darwin")
    done = tools(bare, "chromium", "bubblewrap")
    assert done.returncode == 1
    assert done.stderr.startswith("Missing: chromium. Install it with your system's package manager"), (
        "no bwrap on macOS"
    )


def test_a_failed_installation_shows_what_apt_said(bare: Path) -> None:
    put(bare, "id", "echo 0")
    put(bare, "apt-get", "echo 'E: no such package' >&2; exit 100")
    done = tools(bare, "chromium")
    assert done.returncode == 1
    assert "E: no such package" in done.stderr


# ---- make


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_make_alone_lists_what_it_can_do() -> None:
    shown = make(ROOT).stdout.splitlines()
    targets = [line.split()[0] for line in shown]
    assert {"start", "test", "book", "build", "lint", "demo"} <= set(targets)
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert phony is not None
    assert sorted(targets) == sorted(phony[1].split()), "each target is explained, and none is missing"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that making an environment needs, in a folder of their own."""
    folder = tmp_path / "a clone"
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


def test_an_old_python_is_refused(clone: Path) -> None:
    put(clone, "python", "exit 1")
    done = make(clone, "PYTHON=./python", "start")
    assert done.returncode != 0
    assert "QKV needs Python 3.11, 3.12 or 3.13. Name one: make PYTHON=/path/to/python3.11 start" in done.stderr


# stands in for Python: notes how it is called, and "makes" an environment
PYTHON = """echo "$*" >> calls
case "$*" in *--clear*)
  mkdir -p .venv/bin && cp python .venv/bin/python && cp python .venv/bin/qkv;;
esac"""


def test_the_environment_is_made_once_and_again_when_it_must(clone: Path) -> None:
    put(clone, "python", PYTHON)
    calls = clone / "calls"

    def installs(target: str = "book") -> list[str]:
        done = make(clone, "PYTHON=./python", target)
        assert done.returncode == 0, done.stderr
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return [line for line in lines if ".ci/install" in line or "--clear" in line]

    anew = "-m venv --clear .venv"
    assert installs() == [anew, ".ci/install learn"]
    assert installs() == []
    os.utime(clone / "requirements.lock", (2e9, 2e9))
    os.utime(clone / ".venv" / "ready", (1e9, 1e9))
    assert installs() == [".ci/install learn"]
    os.utime(clone / "requirements.lock", (1e9, 1e9))
    assert installs("bench") == [".ci/install all"], "tests need more than a learner"
    assert installs("bench") == installs() == [], "who has all has what a learner needs"
    for stamp in ("ready", "all"):
        (clone / ".venv" / stamp).write_text("/another/folder")
    assert installs() == [anew, ".ci/install learn"]


@pytest.fixture
def install() -> Any:
    """The script .ci/install, as a module."""
    loader = SourceFileLoader("ci_install", str(ROOT / ".ci" / "install"))
    spec = spec_from_loader("ci_install", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_torch_comes_first_and_without_cuda(install: Any) -> None:
    torch = next(line for line in (ROOT / "requirements.lock").read_text().splitlines() if line.startswith("torch=="))
    for what in ("learn", "all"):
        (_, first), *_, (_, last) = install.steps(what, {})
        assert first[-2:] == ["--no-deps", torch]
        assert last[-1].startswith(".")
    assert install.CPU_BUILDS in install.torch_options({}, "linux")
    for told in ("CUDA", "CI", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        assert install.torch_options({told: "1"}, "linux") == []
    assert install.torch_options({}, "darwin") == install.torch_options({}, "win32") == []


def test_a_learner_gets_what_the_chapters_need_in_the_versions_of_the_lock(install: Any) -> None:
    *_, (_, arguments) = install.steps("learn", {})
    assert arguments[:2] == ["-c", "requirements.lock"]
    extras = arguments[-1].removeprefix(".[").removesuffix("]").split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras) <= set(known)
    assert "test" not in extras


# ---- .ci/test


@pytest.fixture
def stages(clone: Path) -> Callable[..., tuple[int, list[str], list[str]]]:
    """Runs .ci/test with programs that do nothing but note how they are called, and under which settings."""
    programs = clone / ".venv" / "bin"
    programs.mkdir(parents=True)
    noting = """echo "$(basename "$0") $* [$QKV_EDITIONS${QKV_ALL:+, all}]" >> calls
case "$*" in *"$FAILING"*) exit 1;; esac"""
    for name in ("python", "qkv", "ruff", "mypy", "pytest"):
        put(programs, name, noting)
    for name in ("tools", "elsewhere"):
        put(clone / ".ci", name, noting)

    def run(*arguments: str, failing: str = "nothing") -> tuple[int, list[str], list[str]]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("QKV_")}
        words = [clone / ".ci" / "test", *arguments]
        done = subprocess.run(words, env=kept | {"FAILING": failing}, capture_output=True, text=True)
        calls = clone / "calls"
        return done.returncode, calls.read_text().splitlines() if calls.exists() else [], done.stdout.splitlines()

    return run


def test_a_run_takes_a_quarter_of_the_longest(stages: Callable[..., Any]) -> None:
    code, calls, said = stages()
    assert code == 0
    assert said[-1].endswith("all green")
    assert "qkv lint --changed --turn --salts 2 [turns]" in calls
    assert [call for call in calls if call.startswith("pytest")][-1].endswith("tests solutions [turns]")
    assert not [call for call in calls if call.startswith("elsewhere")]


def test_a_run_of_all_takes_all(stages: Callable[..., Any]) -> None:
    code, calls, _ = stages("all")
    assert code == 0
    assert "qkv lint [here, all]" in calls
    assert [call for call in calls if call.startswith("pytest")][-1].endswith("tests solutions [here, all]")
    assert [call for call in calls if call.startswith("elsewhere")] == ["elsewhere  [here, all]"]


def test_every_stage_runs_and_the_last_line_names_those_that_failed(stages: Callable[..., Any]) -> None:
    code, calls, said = stages(failing="format --check")
    assert code == 1
    assert said[-1].endswith("failed: [ruff format]")
    assert any(call.startswith("pytest") for call in calls)
    assert [line.split("  ")[-1] for line in said if re.match(r" +\d+ s +\d+ s  ", line)][:2] == [
        "system tools",
        "ruff check",
    ]


def test_another_word_than_all_is_refused(stages: Callable[..., Any]) -> None:
    code, calls, _ = stages("everything")
    assert (code, calls) == (2, [])
