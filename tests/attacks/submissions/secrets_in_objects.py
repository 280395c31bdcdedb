"""Goes through every object in memory for the reference, an exercise, or the salt.

Expected: nothing earned.
Seconds: 8
"""

import gc
import types

SALT = "@SALT-BACKWARDS@"[::-1]
seen, queue = set(), [*gc.get_objects(), gc.get_referents(*gc.get_objects())]
while queue:
    item = queue.pop()
    if id(item) in seen or len(seen) > 400_000:
        continue
    seen.add(id(item))
    if isinstance(item, str) and item is not SALT and SALT in item:
        print("LEAK salt")
    if isinstance(item, types.FunctionType) and (item.__module__ or "").startswith(
        ("qkv.model", "qkv.authoring.write.lint")
    ):
        print("LEAK function", item)
    if type(item).__name__ in ("Exercise", "Examiner", "Salted", "Misconception"):
        print("LEAK object", type(item))
    if isinstance(item, (dict, list, tuple, set, types.ModuleType, types.FunctionType)):
        queue.extend(gc.get_referents(item))


def softmax(scores, dim):
    return scores
