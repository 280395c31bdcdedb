"""Reads the answers of somebody else.

Expected: nothing earned.
"""

import contextlib
import os

with contextlib.suppress(OSError):
    print("LEAK", os.listdir("@PLAYGROUND@"))
with contextlib.suppress(OSError), open("@PLAYGROUND@/canary.txt") as file:
    print("LEAK", file.read())
with contextlib.suppress(OSError):
    # the way to the interpreter may lead through there; nothing else may be seen on it
    if found := set(os.listdir("@REPOSITORY@")) - {".venv", "venv"}:
        print("LEAK", found)
for place in ("/home", "/tmp", "/var", "/srv", "/mnt", "/opt"):
    with contextlib.suppress(OSError):
        for folder, _, files in os.walk(place):
            if files and "site-packages" not in folder and "lib/python" not in folder:
                print("LEAK", folder, files[:3])
for place in ("/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/machine-id"):
    with contextlib.suppress(OSError), open(place) as file:
        print("LEAK", place, file.read(10))


def softmax(scores, dim):
    return scores
