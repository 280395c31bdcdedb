"""The runner without a sandbox: runs a submission in this process, for a self-check by its author.

It runs what the sandbox runs (`proctor.inside.running`), with the same set-up, the same imports, the same probes and
the same limits, so that both come to the same verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import torch
from torch import Tensor

from proctor.forbid.replace import Blocker
from proctor.inside.observe import Observation, describe_exception
from proctor.inside.rlimits import WAITS, memory_limit
from proctor.inside.running import (
    Draws,
    Job,
    LoadedCells,
    Output,
    OutputLimit,
    Probes,
    captured,
    out_of_memory,
    run_job,
    submission_namespace,
)
from proctor.inside.time_limit import TimeLimit, time_limit
from proctor.inside.warmup import stub_compiler
from proctor.marking.not_there import not_there
from proctor.sandbox import Limits, Run, Stopped

LOOPS = "A check takes a moment. If a loop is running there, look at what should end it."


class InProcess:
    """A runner for submissions of trusted authors, in this process.

    Args:
        probes: exercise -> probe -> function.
        draws: gives the inputs of an exercise when they are first needed.
        limits: of each run.
    """

    def __init__(
        self, probes: Probes, draws: Callable[[str], Mapping[str, Tensor]], limits: Limits | None = None
    ) -> None:
        self.probes, self.draws, self.limits = probes, draws, limits or Limits()
        self._blocker = Blocker()
        stub_compiler.leave_out()  # as in the sandbox; the first check in a process takes 0.4 s less

    @contextmanager
    def session(self) -> Iterator[InProcess]:
        """This runner itself: all runs share one process."""
        yield self

    def run(self, job: Job, draws: Draws | None = None) -> Run:
        """Run one submission and observe it.

        Raises:
            KeyboardInterrupt: somebody at the keyboard had enough.
        """
        run = Run()
        running = ["", ""]
        limits = self.limits
        asked = {job.versions[name].exercise if name in job.versions else name for name in job.exercises}
        inputs = {name: self.draws(name) for name in asked} if draws is None else draws
        output = Output(limits.kept_output, limits.output_bytes)

        def loaded(found: LoadedCells) -> None:
            run.defined, run.cell_errors = tuple(found.defined), dict(found.errors)
            run.notes, run.called = tuple(found.notes), found.called

        def begin(exercise: str, probe: str) -> None:
            running[:] = [exercise, probe]
            output.begin()

        def observed(seen: Observation) -> None:
            seen = replace(out_of_memory(seen, limits.memory_mb), printed=output.text())
            run.outcomes.setdefault(running[0], {})[running[1]] = seen

        def stopped(reason: str, sentence: str, error: BaseException, advice: str = "") -> Stopped:
            raised = describe_exception(error, implementation=job.objects.get(running[0]))
            at = f", at {raised.where}" if raised.where else ""
            return Stopped(reason, f"{sentence}{at}.", running[0], running[1], raised.line, advice)

        began = time.process_time()
        try:
            surroundings = captured(output) if job.objects else submission_namespace(output, job.modules, job.inert)
            with surroundings as names, self._confined():
                names = job.namespace if names is None else names
                run_job(job, self.probes, inputs, self._blocker, names, loaded, begin, observed, interruptible=True)
        except OutputLimit as error:
            run.stopped = stopped("output", f"The code printed more than {limits.output_bytes:,} characters", error)
        except TimeLimit as error:
            run.stopped = stopped("time", f"The code was still running after {limits.seconds:g} s", error, LOOPS)
        run.seconds = time.process_time() - began
        return run

    @contextmanager
    def _confined(self) -> Iterator[None]:
        """What the sandbox has: one thread, limits of time and memory, no disk, no network."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        # a graphics card is mapped as a whole, which says nothing of what is used
        memory = nullcontext() if torch.cuda.is_available() else memory_limit(self.limits.memory_mb)
        try:
            with memory, time_limit(self.limits.seconds, WAITS * self.limits.seconds), not_there():
                yield
        finally:
            torch.set_num_threads(threads)
