"""Replaces the functions of the test harness that it finds in sys.modules, so that each probe looks passed.

Expected: nothing earned, or stopped (garbage or crash or exit).
"""

import sys

import torch

observe = sys.modules["proctor.inside.observe"]
harness = sys.modules["proctor.inside.harness"]
passed = observe.Observation({"weights": torch.ones(2, 3, 5), "score": torch.tensor(1.0)}, None, ())
observe.observe = harness.observe = harness.look = lambda *args, **options: passed
harness.pack = lambda *args: b"passed"


def softmax(scores, dim):
    return torch.zeros_like(scores)
