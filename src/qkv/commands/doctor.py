"""`qkv doctor`: what this machine has, and what to do about what it lacks."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from qkv import course
from qkv.notebook import progress, workspace

PACKAGES = ("torch", "numpy", "matplotlib", "jupyterlab")
AUTHORS = ("jupyter-book", "jupytext")  # they build the book and the notebooks of a clone
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def machine_report() -> str:
    """One line for each thing that the course may meet on this machine."""
    rows = [*_machine(), *_packages(), *_workspace(), *_devices(), *_browser(), *_sandbox()]
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {text}".rstrip() for label, text in rows)


def chromium() -> str | None:
    """The path of a Chromium for the browser tests, or None."""
    return next((path for name in CHROMIUM_NAMES if (path := shutil.which(name))), None)


def _machine() -> Iterator[tuple[str, str]]:
    yield "Python", f"{platform.python_version()} at {sys.executable}"
    yield "system", f"{platform.system()} {platform.release()}, {os.cpu_count()} cores"


def _packages() -> Iterator[tuple[str, str]]:
    clone = course.root() is not None
    for name in ("qkv-course", *PACKAGES, *(AUTHORS if clone else ())):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            how = "python -m pip install -r requirements.lock" if clone else f"python -m pip install {name}"
            yield name, f"missing: {'`make start` installs it; without make: ' if clone else ''}{how}"


def _workspace() -> Iterator[tuple[str, str]]:
    try:
        place = workspace.find_workspace()
    except workspace.NoWorkspace as none:
        yield "notebooks", str(none)
        return
    yield "notebooks", str(place.notebooks) if place.notebooks.is_dir() else "none yet: `qkv start` puts them here"
    yield "progress", str(progress.location() or "is not stored, since QKV_PROGRESS is off")


def _devices() -> Iterator[tuple[str, str]]:
    try:
        import torch
    except ImportError:
        return  # said among the packages
    if torch.cuda.is_available():
        yield "device", f"cuda ({torch.cuda.get_device_name()})"
    elif torch.backends.mps.is_available():
        yield "device", "mps"
    else:
        yield "device", "cpu (every chapter is made for it: no GPU is needed)"


def _browser() -> Iterator[tuple[str, str]]:
    yield "Chromium", chromium() or "not found; only `make test` needs it (Debian: apt-get install chromium)"


def _sandbox() -> Iterator[tuple[str, str]]:
    """The tiers, best first. The first that is available is the one that `qkv grade` uses."""
    from proctor import sandbox

    in_force = False
    for tier, available, why in sandbox.describe_tiers():
        state = "not available" if not available else "available" if in_force else "in force"
        in_force = in_force or available
        yield f"sandbox: {tier}", f"{state}: {why}" if why else state
