"""Deletes, overwrites, renames, links and re-dates the instructor's files.

Expected: nothing earned.
"""

import contextlib
import os
from pathlib import Path

CANARY, PLACE = "@PLAYGROUND@/canary.txt", "@PLAYGROUND@"
ATTEMPTS = {
    "overwrote": lambda: Path(CANARY).write_text("gone"),
    "appended": lambda: os.open(CANARY, os.O_WRONLY | os.O_APPEND),
    "truncated": lambda: os.truncate(CANARY, 0),
    "removed": lambda: os.remove(CANARY),
    "renamed": lambda: os.rename(CANARY, CANARY + ".old"),
    "changed rights": lambda: os.chmod(CANARY, 0o000),
    "changed owner": lambda: os.chown(CANARY, os.getuid(), os.getgid()),
    "changed times": lambda: os.utime(CANARY, (0, 0)),
    "set an attribute": lambda: os.setxattr(CANARY, "user.attack", b"1"),
    "linked": lambda: os.link(CANARY, PLACE + "/link"),
    "linked softly": lambda: os.symlink(CANARY, PLACE + "/soft"),
    "made a directory": lambda: os.mkdir(PLACE + "/directory"),
    "made a pipe": lambda: os.mkfifo(PLACE + "/pipe"),
    "removed the directory": lambda: os.rmdir(PLACE),
    "mounted": lambda: __import__("ctypes").CDLL(None).mount(b"/", PLACE.encode(), b"", 4096, None) == 0 or 1 / 0,
    "changed its root": lambda: os.chroot(PLACE),
}
for name, attempt in ATTEMPTS.items():
    with contextlib.suppress(OSError, ZeroDivisionError):
        attempt()
        print("LEAK", name)


def softmax(scores, dim):
    return scores
