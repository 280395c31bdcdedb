"""bubblewrap: own user, process, network, IPC, host-name and mount namespaces around the zygote.

What it guarantees: only what the view shows exists inside, all of it read-only; no /proc, no /dev/shm, no writable
place at all; no network but an empty one; processes outside cannot be named, let alone signalled; when the process
that started it goes, everything inside ends. The system-call filter comes on top, in each child.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from proctor.sandbox.visible_files import DEVICES, VisibleFiles

INSTALL = "install it with your package manager, e.g. apt-get install bubblewrap"
NOBODY = "65534"


def command(view: VisibleFiles, environment: Mapping[str, str]) -> list[str]:
    """The words that come before the program to be run inside."""
    words = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    words += ["--uid", NOBODY, "--gid", NOBODY, "--hostname", "sandbox", "--clearenv"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    for path in view.shown:
        words += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
    for path in view.hidden:
        empty = ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", os.devnull, path]
        words += empty
    for device in DEVICES:
        words += ["--dev-bind", device, device]
    return [*words, "--remount-ro", "/", "--chdir", "/", "--"]


def available(view: VisibleFiles) -> tuple[bool, str]:
    """(available on this machine?, the reason in words); tried out."""
    if sys.platform != "linux":
        return False, "bubblewrap needs Linux; on macOS and Windows use a Linux virtual machine, WSL2 or a container"
    if shutil.which("bwrap") is None:
        return False, f"bubblewrap is not installed: {INSTALL}"
    words: Sequence[str] = [*command(view, {}), view.executable, "-I", "-S", "-c", "print('inside')"]
    try:
        trial = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, f"bubblewrap is installed but did not start: {error}"
    if trial.stdout.strip() != "inside":
        said = trial.stderr.strip().splitlines()
        reason = said[-1][:200] if said else f"it ended with status {trial.returncode}"
        return False, f"bubblewrap is installed but this system does not let it make namespaces ({reason})"
    return True, "bubblewrap works: own namespaces, a read-only view, no network"
