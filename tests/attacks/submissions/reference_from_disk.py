"""Reads the reference where it is installed.

Expected: nothing earned.
"""

import contextlib
import glob
import os
import sys

PLACES = ["@REFERENCE@", "@REPOSITORY@/src/qkv/model/lookup.py", "@REPOSITORY@/solutions", "@REPOSITORY@/README.md"]
for root in [*sys.path, "@REPOSITORY@"]:
    PLACES += glob.glob(os.path.join(root, "qkv*", "**", "*.py"), recursive=True)
    PLACES += glob.glob(os.path.join(root, "proctor*", "**", "*.py"), recursive=True)
for place in PLACES:
    with contextlib.suppress(OSError):
        if os.path.isdir(place):
            print("LEAK listed", os.listdir(place))
        with open(place) as file:
            print("LEAK read", place, file.read(20))


def softmax(scores, dim):
    return scores
