"""What a sandbox may read: never the course or the engine, however they were installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import proctor
from proctor.sandbox import visible_files
from proctor.sandbox.tiers import bubblewrap


def inside(path: str | Path, trees: tuple[str, ...]) -> bool:
    return any(str(path) == tree or str(path).startswith(tree + "/") for tree in trees)


def test_interpreter_library_and_packages_are_shown():
    seen = visible_files.current()
    import torch

    assert inside(seen.executable, seen.shown)
    assert inside(os.__file__, seen.shown)
    assert inside(os.path.realpath(torch.__file__), seen.shown)
    assert any(inside(os.path.realpath(torch.__file__), (site,)) for site in seen.path)


def test_our_own_files_are_not():
    seen = visible_files.current()
    for path in Path(proctor.__file__).resolve().parents[1].rglob("*.py"):
        assert not inside(path, seen.shown) or inside(path, seen.hidden), path


def test_homes_and_working_directories_are_not():
    seen = visible_files.current()
    for path in (Path.cwd(), Path.home(), "/etc/passwd", "/tmp", "/proc", "/"):
        assert not inside(path, seen.shown), path


def test_a_wheel_beside_torch_is_masked(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    for name in ("qkv/model/lookup.py", "proctor/inputs.py", "somebody/else.py", "qkv.py"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("x = 1")
    monkeypatch.syspath_prepend(site)
    assert str(site / "qkv") not in visible_files.current().hidden
    seen = visible_files.current(packages=["qkv"])
    assert str(site) in seen.path
    assert {str(site / name) for name in ("qkv", "proctor", "qkv.py")} <= set(seen.hidden)
    words = bubblewrap.command(seen, {})
    assert ["--tmpfs", f"{site}/qkv", "--remount-ro", f"{site}/qkv"] == words[
        (i := words.index(f"{site}/qkv")) - 1 : i + 3
    ]
    assert ["--ro-bind", "/dev/null", f"{site}/qkv.py"] == words[(i := words.index(f"{site}/qkv.py")) - 2 : i + 1]


def test_more_can_be_hidden(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    (site / "submissions").mkdir(parents=True)
    monkeypatch.syspath_prepend(site)
    assert str(site / "submissions") in visible_files.current([site / "submissions"]).hidden
    assert visible_files.current(["/no/such/place"]).hidden == visible_files.current().hidden


def test_a_working_copy_on_the_path_is_no_site_directory(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend("")
    assert str(tmp_path) not in visible_files.site_directories()
    assert all(os.path.basename(site).endswith("-packages") for site in visible_files.site_directories())
    assert sys.path[0] == ""
