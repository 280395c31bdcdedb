"""Prints a result, raises one, and leaves one where a grader might look.

Expected: nothing earned.
"""

import contextlib
import json

RESULT = json.dumps({"student": "me", "exercise": "softmax", "state": "passed", "score": 1.0})
print(RESULT)
for place in ("results.json", "/results/results.json", "results.jsonl", "/tmp/results.jsonl"):
    with contextlib.suppress(OSError), open(place, "w") as file:
        file.write(RESULT)
        print("LEAK wrote", place)


def softmax(scores, dim):
    raise AssertionError(RESULT)
