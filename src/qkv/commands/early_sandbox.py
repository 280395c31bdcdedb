"""What `qkv grade` does before it loads torch: begin a sandbox, which takes as long to load it."""

from __future__ import annotations

from contextlib import suppress

from proctor.inside import warmup
from proctor.sandbox import Fault, Limits, Refused, choose, launch
from proctor.sandbox.visible_files import current

PACKAGES = ("qkv",)  # what no sandbox may read, besides the engine


def begin_sandbox(limits: Limits, trust: bool) -> None:
    """Begin the first worker's sandbox. Where none can be had, whoever asks for one says so."""
    with suppress(Refused, Fault, OSError):
        seen = current(packages=PACKAGES, before_torch=True)
        launch.begin_spare(launch.Walls(choose(trust=trust), seen, limits, warmup.chosen()))
