"""The sandbox that `qkv grade` starts before it loads torch itself: both load it at the same time."""

from __future__ import annotations

from contextlib import suppress

from proctor.inside import warmup
from proctor.sandbox import Fault, Limits, Refused, choose, launch
from proctor.sandbox.visible_files import current

PACKAGES = ("qkv",)  # what no sandbox may read, besides the engine


def begin_sandbox(limits: Limits, trust: bool) -> None:
    """Start the first worker's sandbox. Errors are ignored here, and reported when the worker needs it."""
    with suppress(Refused, Fault, OSError):
        seen = current(packages=PACKAGES, before_torch=True)
        launch.begin_spare(launch.SandboxConfig(choose(trust=trust), seen, limits, warmup.chosen()))
