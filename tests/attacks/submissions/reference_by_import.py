"""Imports the reference and the exercises by every road that imports have.

Expected: nothing earned.
"""

import contextlib
import importlib
import importlib.machinery
import importlib.util
import sys

NAMES = (
    "qkv.model.lookup",
    "qkv.exercises",
    "qkv.exercises.lookup",
    "qkv.authoring.write.lint",
    "proctor.examining.exercise",
    "proctor.examining.diagnose",
)
for path in ("@REPOSITORY@/src", "@REPOSITORY@"):
    sys.path.insert(0, path)
for name in NAMES:
    with contextlib.suppress(ImportError, AttributeError):
        print("LEAK imported", importlib.import_module(name))
    with contextlib.suppress(ImportError, AttributeError, ValueError):
        spec = importlib.machinery.PathFinder.find_spec(name, sys.path)
        if spec is not None:
            print("LEAK found", spec)
with contextlib.suppress(Exception):
    spec = importlib.util.spec_from_file_location("reference", "@REFERENCE@")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    print("LEAK loaded", module)


def softmax(scores, dim):
    return scores
