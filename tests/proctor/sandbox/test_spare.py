"""A zygote that was begun before torch was loaded here is taken by the sandbox that it fits, and by no other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from proctor.inside import warmup
from proctor.inside.running import Cell, Job
from proctor.marking.probe_pickle import dumps
from proctor.sandbox import Limits, Sandbox, choose, launch
from proctor.sandbox.visible_files import current

LIMITS = Limits(seconds=20.0, memory_mb=256)


def config(limits: Limits = LIMITS) -> launch.SandboxConfig:
    return launch.SandboxConfig(choose(), current(before_torch=True), limits, warmup.chosen())


@pytest.fixture
def spare() -> Iterator[launch.Zygote]:
    launch.begin_spare(config())
    yield launch._spare[0][1]
    launch.drop_spare()


def printed(box: Sandbox) -> str:
    return box.run(Job([Cell("cell 1", "print(6 * 7)")])).output.strip()


def test_it_is_taken(spare: launch.Zygote):
    with Sandbox(dumps([]), limits=LIMITS) as box:
        assert printed(box) == "42"
        assert box.pid == spare.process.pid
        assert launch._spare == []


def test_not_behind_other_walls(spare: launch.Zygote):
    with Sandbox(dumps([]), limits=Limits(seconds=20.0, memory_mb=300)) as box:
        assert printed(box) == "42"
        assert box.pid != spare.process.pid
        assert spare.process.poll() is not None


def test_one_that_died_is_replaced(spare: launch.Zygote):
    spare.process.kill()
    spare.process.wait()
    with Sandbox(dumps([]), limits=LIMITS) as box:
        assert printed(box) == "42"


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux")
def test_a_process_that_is_forked_from_this_one_can_take_and_end_it(spare: launch.Zygote):
    pid = os.fork()
    if pid == 0:
        right = 1
        try:
            with Sandbox(dumps([]), limits=LIMITS) as box:
                right = int(not (printed(box) == "42" and box.pid == spare.process.pid))
        finally:
            os._exit(right)
    launch.leave_spare()
    assert os.waitpid(pid, 0)[1] == 0
    spare.process.wait(60)  # ended by the one that inherited it


BEGIN = """
import sys
from proctor.sandbox import Limits, launch
from qkv.commands import early_sandbox

early_sandbox.begin_sandbox(Limits(), False)
print("torch" in sys.modules, len(launch._spare))
launch.drop_spare()
"""


def test_nothing_that_begins_one_loads_torch():
    said = subprocess.run([sys.executable, "-c", BEGIN], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "1"]
