"""Runs, seen from the outside: what comes back, what is said of a stop, and how the sandbox recovers."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from proctor import Examiner
from proctor.inside import frames
from proctor.inside.running import Cell, Job, Version
from proctor.marking.probe_pickle import dumps
from proctor.sandbox import Fault, Limits, Refused, Sandbox, describe_tiers, launch

spec = importlib.util.spec_from_file_location("one_exercise", Path(__file__).parents[1] / "one_exercise.py")
# known by name, since its probes are pickled
one_exercise = sys.modules["one_exercise"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(one_exercise)

EXAMINER = Examiner(one_exercise.exercise, "salt")
PROBES = list(one_exercise.exercise.probes)
LIMITS = Limits(seconds=20.0, memory_mb=200, output_bytes=100_000, kept_output=50)
RIGHT = "def affine(x, slope, offset):\n    return slope * x + offset"


def make(tier: str, limits: Limits = LIMITS, **options: Any) -> Sandbox:
    works = {name: (available, why) for name, available, why in describe_tiers()}
    if not works[tier][0]:
        pytest.skip(works[tier][1])
    draws = {"affine": EXAMINER.draws}
    return Sandbox(dumps([one_exercise.exercise]), draws, limits, tier, trust=tier == "limits", **options)


@pytest.fixture(scope="module", autouse=True)
def quick_start() -> Iterator[None]:
    """What most submissions never import is not imported beforehand, so that these sandboxes start soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "PRELOAD", ("numpy",))
        yield


@pytest.fixture(scope="module", params=["bubblewrap", "landlock", "limits"])
def box(request) -> Iterator[Sandbox]:
    with make(request.param) as made:
        yield made


def run_in(box: Any, *sources: str, **options):
    cells = [Cell(f"cell {i} of a.ipynb", source) for i, source in enumerate(sources, 1)]
    asked = {"exercises": {"affine": PROBES}, "forbid": {"affine": one_exercise.exercise.forbid}}
    fields = Job.__dataclass_fields__.keys() & options.keys()
    asked |= {name: options.pop(name) for name in fields}
    return box.run(Job(cells, **asked), **options)


def passes(box: Sandbox) -> bool:
    return EXAMINER.verdict(run_in(box, RIGHT).outcomes["affine"]).state == "passed"


def children(pid: int) -> set[int]:
    """All processes below a process."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | children(child)
    return found


def zygote(box: Sandbox) -> int:
    """The process that forks: the one that was started, or the innermost one that it started."""
    box.start()  # waits for the end of the last run
    below = children(box.pid)
    return max(below, key=lambda pid: len(children_above(pid, below))) if below else box.pid


def children_above(pid: int, among: set[int]) -> set[int]:
    return {other for other in among if pid in children(other)}


def wait_until(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_a_right_answer_passes(box):
    seen = run_in(box, RIGHT)
    assert seen.defined == ("affine",)
    assert list(seen.outcomes["affine"]) == PROBES
    assert EXAMINER.verdict(seen.outcomes["affine"]).state == "passed"
    assert (seen.stopped, seen.cell_errors, seen.notes, seen.output) == (None, {}, (), "")


def test_what_the_sandbox_sees_is_what_the_trusted_process_sees(box):
    seen = run_in(box, RIGHT).outcomes["affine"]
    for name, expected in EXAMINER.expected.items():
        assert all(torch.equal(seen[name].values[key], value) for key, value in expected.observation.values.items())


def test_torch_uses_the_same_kernels_inside(box):
    source = "import torch\nprint(torch.backends.cpu.get_cpu_capability())\n"
    assert run_in(box, source).output.strip() == torch.backends.cpu.get_cpu_capability()


def test_a_mistake_is_diagnosed(box):
    result = EXAMINER.verdict(
        run_in(box, "def affine(x, slope, offset):\n    return x / slope + offset").outcomes["affine"]
    )
    assert result.misconceptions == ("slope_divides",)


def test_nothing_defined(box):
    seen = run_in(box, "x = 1", "affine = 5")
    assert (seen.defined, seen.outcomes, seen.stopped) == ((), {}, None)


def test_a_broken_cell_is_told_and_the_rest_counts(box):
    seen = run_in(box, "1 / 0", RIGHT, "def (")
    assert EXAMINER.verdict(seen.outcomes["affine"]).state == "passed"
    assert seen.cell_errors["cell 1 of a.ipynb"].where == "cell 1 of a.ipynb, line 1: `1 / 0`"
    assert seen.cell_errors["cell 3 of a.ipynb"].kind == "SyntaxError"


def test_one_probe_that_raises_leaves_the_others_alone(box):
    seen = run_in(box, "def affine(x, slope, offset):\n    return slope * x + offset if len(x) == 3 else x[99]")
    assert seen.outcomes["affine"]["three_numbers"].values is not None
    raised = seen.outcomes["affine"]["steep"].raised
    assert raised.kind == "IndexError"
    assert raised.where.startswith("cell 1 of a.ipynb, line 2: `return slope * x")


def test_prints_warnings_plots_and_the_course_cost_nothing(box):
    seen = run_in(
        box,
        "import warnings, matplotlib.pyplot as plt",
        "from course import check\nfrom course.figures import use\nuse()",
        "print('é' * 80)\nwarnings.warn('careful')\ncheck(1)",
        "def affine(x, slope, offset):\n    print(x)\n    plt.plot(x)\n    plt.show()\n    return slope * x + offset",
        modules={"course": "def check(*args): ...", "course.model": ""},
        inert=["course.figures"],
    )
    assert seen.cell_errors == {}
    assert EXAMINER.verdict(seen.outcomes["affine"]).state == "passed"
    assert seen.output == "é" * 50


def test_modules_are_there_and_stand_ins_take_the_place_of_the_students(box):
    seen = run_in(
        box,
        "from qkv.model.lines import slope_of, scaled\nfrom qkv.model.later import anything",
        "def scaled(x, slope):\n    return 0 * x\ndef affine(x, slope, offset):\n    return scaled(x, slope) + offset",
        modules={"qkv.model.lines": "def scaled(x, slope):\n    return slope * x\nslope_of = 1"},
        stand_ins={"scaled": "qkv.model.lines"},
    )
    assert EXAMINER.verdict(seen.outcomes["affine"]).state == "passed"
    assert seen.notes == ("from qkv.model.later import anything: No module named 'qkv.model.later'",)


def test_forbidden_calls_are_seen(box):
    source = "def affine(x, slope, offset):\n    return slope * x + offset + 0 * x.softmax(0)"
    seen = run_in(box, source)
    assert seen.outcomes["affine"]["three_numbers"].called == ("torch's own softmax",)
    assert EXAMINER.verdict(seen.outcomes["affine"]).score == 0


def test_an_optimizer_and_a_compiled_function_work(box):
    seen = run_in(
        box,
        "import torch\n@torch.compile\ndef line(x, slope, offset):\n    return slope * x + offset",
        "def train():\n    w = torch.nn.Parameter(torch.ones(2))\n    optimizer = torch.optim.Adam([w])\n"
        "    torch.set_num_threads(4)\n    w.square().sum().backward()\n    optimizer.step()",
        "def affine(x, slope, offset):\n    train()\n    return line(x, slope, offset)",
        seconds=15,
    )
    assert EXAMINER.verdict(seen.outcomes["affine"]).state == "passed", seen


def test_unseeded_draws_are_the_same_in_every_run(box):
    source = "import random, numpy, torch\nprint(random.random(), numpy.random.rand(), torch.rand(1))\n"
    first, second = (run_in(box, source + RIGHT).output for _ in range(2))
    assert first == second != ""


MARK = "import builtins\nmet = getattr(builtins, 'met', 0)\nbuiltins.met = met + 1\nprint(met)\n"


def test_a_process_that_was_kept_is_asked_again_and_has_a_clean_namespace(box):
    lines = {"qkv.model.lines": "steps = 1"}
    source = MARK + "import torch\nfrom qkv.model.lines import steps\nprint(steps, 'x' in globals(), torch.rand(1))\n"
    with box.session() as session:
        first = run_in(session, MARK + "from qkv.model.lines import steps\nx = 1", modules=lines)
        second = run_in(session, source + RIGHT, modules={"qkv.model.lines": "steps = 2"})
    assert (first.output, second.output[:12]) == ("0\n", "1\n2 False te")
    assert EXAMINER.verdict(second.outcomes["affine"]).state == "passed"
    anew = run_in(box, source, modules={"qkv.model.lines": "steps = 2"})
    assert anew.output == second.output.replace("1", "0", 1)  # unseeded draws are the same


def test_a_process_is_asked_only_so_often(box):
    with box.session() as session:
        met = [run_in(session, MARK + RIGHT).output.strip() for _ in range(frames.TIMES + 1)]
    assert met == [str(i) for i in range(frames.TIMES)] + ["0"]


def test_who_was_taught_earns_no_points_in_the_same_process(box):
    with box.session() as session:
        run_in(session, MARK + RIGHT)
        assert run_in(session, MARK + RIGHT, holds_reference=True).output == "1\n"
        assert run_in(session, MARK + RIGHT, draws={"affine": EXAMINER.draws}).output == "2\n"
        assert run_in(session, MARK + RIGHT).output == "0\n"


def test_nobody_else_gets_a_process_that_was_kept(box):
    with box.session() as session:
        run_in(session, MARK)
        with box.session() as another:
            assert run_in(another, MARK).output == "0\n"
        run_in(session, MARK)
        assert run_in(box, MARK).output == "0\n"


def test_edited_answers_have_a_process_of_their_own(box):
    versions = {"affine #0": Version("affine", {})}
    with box.session() as session:
        run_in(session, MARK + RIGHT)
        edited = run_in(session, MARK + RIGHT, exercises={"affine #0": PROBES}, versions=versions)
        assert edited.output == "0\n"


def test_a_process_is_gone_when_its_session_ends(box):
    with box.session() as session:
        run_in(session, MARK)
    assert run_in(session, MARK).output == "0\n"
    box.end_child()


@pytest.mark.parametrize(
    "source",
    [
        "import os; os.write(4, b'F' + bytes(4))",  # a fault is believed from nobody who could lie
        "import os; os.write(4, b'E' + bytes(4) + bytes(100))",
        "import os; os.close(4)",
        "import os; from proctor.sandbox import harness\nharness.Channel.job = lambda channel: os._exit(3)",
        "from proctor.inside import harness\nharness.run_cells = 5",
        "import builtins, torch; builtins.hoard = torch.ones(45_000_000)",
        "import torch; torch.exp = None",
    ],
)
def test_what_a_submission_left_in_its_process_cannot_spoil_its_next_run(box, source):
    room = "import torch\nassert len(torch.exp(torch.ones(20_000_000)))\n"
    with box.session() as session:
        run_in(session, source + "\n" + RIGHT)
        again = run_in(session, room + RIGHT)
    assert again.stopped is None
    assert again.cell_errors == {}
    assert EXAMINER.verdict(again.outcomes["affine"]).state == "passed"
    assert passes(box)


@pytest.mark.parametrize(
    ("source", "reason", "detail"),
    [
        (
            "while True: pass",
            "time",
            "The code did not end in the time that it is given: 1 s of processor time, or 4 s by the clock.",
        ),
        ("print('x' * 1_000_000)", "output", "The code printed more than 100,000 characters."),
        (
            "import os; os._exit(3)",
            "exit",
            "The code ended its own process (exit status 3) before its answer was complete.",
        ),
        (
            "import ctypes; ctypes.string_at(0)",
            "crash",
            "The code crashed its process (SIGSEGV: it read or wrote memory that is not its own).",
        ),
        (
            "import os; os.write(3, b'Q' + bytes(4))",
            "garbage",
            "What came back was not an answer of the test harness (unknown kind of frame).",
        ),
        (
            "import os, time; os.close(3); time.sleep(60)",
            "garbage",
            "The code cut its connection to the test harness and went on running.",
        ),
        (
            "import os; os.write(3, b'O' + bytes([255] * 4))",
            "result",
            "The code sent back too much: a result may have 16,777,216 bytes.",
        ),
    ],
)
def test_a_stop_is_told_in_words(box, source, reason, detail):
    seconds = 1 if reason == "time" else None
    while_loading = run_in(box, source, RIGHT, seconds=seconds)
    assert (while_loading.stopped.reason, while_loading.stopped.detail) == (reason, detail)
    assert (while_loading.stopped.exercise, while_loading.stopped.probe) == ("", "")

    second = f"def affine(x, slope, offset):\n    if len(x) == 4:\n        {source}\n    return slope * x + offset"
    in_a_probe = run_in(box, second, seconds=seconds)
    assert in_a_probe.stopped.reason == reason
    assert (in_a_probe.stopped.exercise, in_a_probe.stopped.probe) == ("affine", "steep")
    assert list(in_a_probe.outcomes["affine"]) == ["three_numbers"]  # what came before counts
    assert passes(box)


@pytest.fixture(scope="module")
def hasty_box() -> Iterator[Sandbox]:
    with make("landlock", replace(LIMITS, seconds=1.0)) as made:
        yield made


def test_time_is_processor_time_so_that_a_busy_machine_changes_nothing(hasty_box):
    waited = run_in(hasty_box, "import time; time.sleep(1.5)\n" + RIGHT)  # as if others had the processor meanwhile
    assert waited.stopped is None
    assert EXAMINER.verdict(waited.outcomes["affine"]).state == "passed"
    assert 0 < waited.seconds < 1


@pytest.mark.parametrize("source", ["while True: pass", "import time; time.sleep(60)"])
@pytest.mark.parametrize("before", ["", "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"])
def test_the_sentence_about_time_is_the_same_whichever_clock_ran_out(hasty_box, before, source):
    stopped = run_in(hasty_box, before + source).stopped
    assert stopped.reason == "time"
    assert stopped.detail == (
        "The code did not end in the time that it is given: 1 s of processor time, or 4 s by the clock."
    )


@pytest.mark.parametrize("told", ['"soon"', "None", "-1", "float('nan')", "float('inf')"])
def test_a_child_cannot_tell_an_impossible_time(box, told):
    seen = run_in(box, f"from proctor.inside import harness\nharness.time.process_time = lambda: {told}\n" + RIGHT)
    assert 0 <= seen.seconds <= LIMITS.seconds


def test_memory_is_bounded_and_said(box):
    raised = run_in(box, "import torch\ndef affine(x, slope, offset):\n    return torch.ones(100_000_000)")
    for seen in raised.outcomes["affine"].values():
        assert (seen.raised.kind, seen.raised.message) == ("MemoryError", "more than the allowed 200 MB")
    assert run_in(box, "import torch\nx = torch.ones(30_000_000)\n" + RIGHT).cell_errors == {}
    assert passes(box)


def test_a_submission_of_many_megabytes_is_not_sent(box):
    seen = run_in(box, "#" * 5_000_000)
    assert seen.stopped.reason == "size"
    assert seen.stopped.detail == "The code is longer than the 4,194,304 characters that are run."


def test_a_zygote_that_died_between_runs_is_replaced(box):
    assert passes(box)
    os.kill(zygote(box), signal.SIGKILL)
    assert passes(box)


def test_a_zygote_that_dies_in_a_run_gives_the_submission_a_second_one(box):
    box.start()
    victim = zygote(box)
    killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
    killer.start()
    seen = run_in(box, "import time; time.sleep(0.8)\n" + RIGHT)
    killer.join()
    assert seen.stopped is None
    assert EXAMINER.verdict(seen.outcomes["affine"]).state == "passed"
    assert wait_until(lambda: not Path(f"/proc/{victim}").exists())


def test_the_zygote_has_one_thread_and_no_child_when_idle(box):
    assert passes(box)
    box.start()
    pid = zygote(box)
    assert len(os.listdir(f"/proc/{pid}/task")) == 1
    assert children(pid) == set()


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_everything_ends_with_the_grader(tier):
    """Even when it is killed in the middle of a run that never ends by itself."""
    program = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parents[3] / "src")]!r}
from proctor.inside.running import Cell, Job
from proctor.sandbox import Limits, Sandbox, launch
import cloudpickle
launch.PRELOAD = ("numpy",)
box = Sandbox(cloudpickle.dumps({{}}), tier={tier!r}, limits=Limits(seconds=600))
box.start()
print(box.pid, flush=True)
box.run(Job([Cell("cell 1", "while True: pass")]))
"""
    grader = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pid = int(grader.stdout.readline())
    assert wait_until(lambda: len(children(pid)) >= 1)
    time.sleep(0.3)
    family = {pid} | children(pid)
    grader.kill()
    grader.wait()
    assert wait_until(lambda: not any(Path(f"/proc/{member}").exists() for member in family))


def test_probes_that_cannot_be_loaded_are_a_fault_of_ours():
    with make("landlock") as box:
        box._payload = replace(box._payload, probes=b"not a pickle")
        with pytest.raises(Fault, match=r"(?s)^the sandbox did not start: .*UnpicklingError"):
            box.start()


def test_without_trust_there_is_no_run_without_walls():
    with pytest.raises(Refused):
        Sandbox(b"", tier="limits")


def test_what_a_submission_starts_without_walls_is_ended(box):
    if box.tier == "limits":
        seen = run_in(box, "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\n" + RIGHT)
        assert seen.stopped is None
        box.start()
        assert wait_until(lambda: children(box.pid) == set())


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_a_wheel_beside_torch_cannot_be_read_and_its_neighbours_can(tier, tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    for name, text in {
        "qkv/model/lookup.py": "SECRET",
        "proctor/x.py": "SECRET",
        "neighbour_package.py": "x = 41",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.getuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    source = f"""
import os
import neighbour_package
print(neighbour_package.x)
for name in ("qkv/model/lookup.py", "proctor/x.py"):
    try:
        print(open("{site}/" + name).read())
    except OSError:
        print("hidden")
"""
    with make(tier, packages=("qkv",)) as box:
        assert run_in(box, source).output.split() == ["41", "hidden", "hidden"]
        pid = box.pid
    assert box.pid is None
    assert not Path(f"/proc/{pid}").exists()  # closed is ended
    box.close()
