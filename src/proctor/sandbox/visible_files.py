"""The files that a sandbox may read: the interpreter, its libraries, the packages beside torch. Nothing of ours.

Guarantees: the view is a list of trees and files to show and a list of paths in them to hide. The course and the
engine are always hidden, whether they were installed as a wheel (beside torch, in site-packages) or are linked from a
working copy (which lies outside every tree shown).
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# what every program may know of the system: its libraries, its processor, three devices
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
MACHINE = (
    "/proc/cpuinfo", "/sys/devices/system/cpu",  # torch picks its kernels by these; without them, the slowest
)  # fmt: skip


@dataclass(frozen=True)
class VisibleFiles:
    """Args:
    executable: the interpreter itself, no link.
    path: what the interpreter's sys.path gets besides its standard library.
    shown: trees and files that can be read.
    hidden: existing paths inside those that cannot.
    """

    executable: str
    path: tuple[str, ...]
    shown: tuple[str, ...]
    hidden: tuple[str, ...]


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths that lie in no other of them, in order."""
    kept: list[str] = []
    for path in sorted({p.rstrip("/") or "/" for p in paths}, key=len):
        if not any(path == other or path.startswith(other + "/") for other in kept):
            kept.append(path)
    return tuple(kept)


def _loaded_libraries() -> set[str]:
    """Shared libraries of this process, wherever they came from; with torch loaded, a sandbox needs the same."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return set()
    names = (line.split(maxsplit=5)[5] for line in lines if line.count(" ") >= 5 and "/" in line)
    return {name for name in names if ".so" in os.path.basename(name) and os.path.isfile(name)}


def site_directories() -> tuple[str, ...]:
    """The directories of installed packages, in search order, without working copies and the current directory."""
    places = (os.path.realpath(place) for place in sys.path if place)
    return tuple(
        dict.fromkeys(
            place
            for place in places
            if os.path.basename(place) in ("site-packages", "dist-packages") and os.path.isdir(place)
        )
    )


def current(hide: Sequence[str | Path] = (), packages: Iterable[str] = (), before_torch: bool = False) -> VisibleFiles:
    """The view for the running interpreter.

    Args:
        hide: further files or directories that must not be seen, such as the submissions of others.
        packages: installed packages that must not be seen besides our own: the course.
        before_torch: do not load torch, whose libraries count among the loaded ones. Nearly always they lie in what
            is shown anyway, and the view is the same.
    """
    if not before_torch:
        import torch

        assert torch
    executable = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    base |= {"installed_base": sys.base_prefix, "installed_platbase": sys.base_exec_prefix}
    standard = [os.path.realpath(sysconfig.get_path(name, vars=base)) for name in ("stdlib", "platstdlib")]
    sites = site_directories()
    shown = _outermost(
        path
        for path in (executable, *standard, *sites, *SYSTEM, *MACHINE, *_loaded_libraries())
        if os.path.exists(path) and not (os.path.islink(path) and path not in SYSTEM)
    )
    names = ("proctor", *packages)
    ours = [os.path.join(site, name) for site in (*sites, *(f"{s}/site-packages" for s in standard)) for name in names]
    ours += [f"{path}.py" for path in ours]
    ours.append(str(Path(__file__).resolve().parents[1]))
    hidden = {os.path.realpath(path) for path in (*ours, *hide) if os.path.exists(path)}
    inside = tuple(sorted(path for path in hidden if any(path.startswith(tree + "/") for tree in shown)))
    return VisibleFiles(executable, sites, shown, inside)
