"""The wheel: installed in an environment without the clone, it gives the book, the notebooks and all commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from qkv import exercises

pytestmark = pytest.mark.slow

RIGHT = """import torch


def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """Built as `make wheel` does, from the book that was built before the tests, or from a page."""
    folder = tmp_path_factory.mktemp("wheel")
    book = os.environ.get("QKV_BUILT_BOOK")
    if not book:
        (folder / "html").mkdir()
        (folder / "html" / "index.html").write_text("<h1>Build the Transformer from scratch</h1>")
    built = str(root / book) if book else str(folder / "html")
    subprocess.run([root / ".ci" / "wheel", folder], check=True, env=os.environ | {"QKV_BUILT_BOOK": built})
    (found,) = folder.glob("qkv_course-*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """The Python of an environment that has the wheel, and what it needs, but not this clone."""
    folder = wheel.parent / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    found = folder / "bin" / "python"
    site = subprocess.check_output([found, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    # a path in a .pth file: packages are found there, but not what that environment links to by a .pth of its own
    Path(site.strip(), "needed.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", found, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--force-reinstall", wheel], check=True)
    return found


def qkv(python: Path, folder: Path, *words: str, code: int = 0) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("QKV_", "PYTHON"))}
    done = subprocess.run([python, "-m", "qkv", *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_who_installs_it_gets_what_a_learner_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        lines = archive.read(metadata).decode().splitlines()
        names = archive.namelist()
    needed = {
        re.split(r"[<>=~! ;]", line.removeprefix("Requires-Dist: "))[0] for line in lines if "extra ==" not in line
    }
    assert {"torch", "matplotlib", "jupyterlab"} <= needed
    assert not {"pytest", "Sphinx", "jupyter-book"} & needed
    assert "qkv/edition/notebooks/01_lookup.ipynb" in names
    assert "qkv/edition/html/index.html" in names
    assert "qkv/edition/AGENTS.md" in names


@pytest.fixture(scope="module")
def started(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """`qkv start` in an empty folder, and what it has printed."""
    folder = tmp_path_factory.mktemp("course")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("QKV_", "PYTHON"))}
    process = subprocess.Popen(
        [python, "-m", "qkv", "start", "--no-browser", "--port", "8400"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if "Ctrl-C" in line:
            break
    yield folder, said
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_start_in_an_empty_folder_gives_book_and_notebooks(started: tuple[Path, str], root: Path) -> None:
    folder, said = started
    for notebook in (root / "notebooks").glob("[0-9]*.ipynb"):
        assert (folder / "notebooks" / notebook.name).read_bytes() == notebook.read_bytes()
    for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"):
        assert (folder / name).read_text("utf-8") == (root / "notebooks" / "AGENTS.md").read_text("utf-8")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for name, part in (
        ("Book", "ook/index.html" if os.environ.get("QKV_BUILT_BOOK") else "Build the"),
        ("JupyterLab", "jupyter"),
    ):
        address = re.search(rf"^{name} +(\S+)", said, re.M)
        assert address is not None, said
        with opener.open(address[1], timeout=60) as page:
            assert part in page.read().decode(errors="replace")


def test_every_command_of_a_student(started: tuple[Path, str], python: Path) -> None:
    folder, _ = started
    assert "Wrote 01_lookup.py" in qkv(python, folder, "stub", "01")
    assert f"{len(exercises.names_of('lookup'))} not started" in qkv(python, folder, "check", "01_lookup.py")
    (folder / "01_lookup.py").write_text(RIGHT)
    assert "softmax: passed" in qkv(python, folder, "check", "01_lookup.py")
    assert f"1 of {len(exercises.names_of('lookup'))}" in qkv(python, folder, "status")
    assert qkv(python, folder, "hint", "soft_lookup").strip()
    assert "Nothing is due" in qkv(python, folder, "review")
    assert "the edition that is installed" in qkv(python, folder, "update", "--no-pull")
    doctor = qkv(python, folder, "doctor")
    assert f"{folder / 'notebooks'}\n" in doctor
    assert "jupyter-book" not in doctor, "only authors need it"
    path = folder / "notebooks" / "01_lookup.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    (cell,) = (c for c in notebook["cells"] if c["id"] == "softmax")
    cell["source"] = RIGHT
    path.write_text(json.dumps(notebook))
    assert "Wrote hand-in" in qkv(python, folder, "hand-in")
    (handed_in,) = folder.glob("hand-in-*.zip")
    assert sorted(zipfile.ZipFile(handed_in).namelist()) == ["01_lookup.ipynb", "01_lookup.py"]
    shutil.rmtree(folder / "kept", ignore_errors=True)
