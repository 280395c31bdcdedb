"""The runner without walls: a submission runs in this process, for whoever trusts its author. `qkv check` does.

It runs what the sandbox runs (`proctor.inside.running`), with the same set-up, the same imports and the same probes,
so that both come to the same verdict. It does not bound time or memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NoReturn

from torch import Tensor

from proctor.forbid.replace import Blocker
from proctor.inside.observe import Observation
from proctor.inside.running import Draws, Job, Loaded, Output, Probes, room, run_job
from proctor.sandbox import Limits, Run, Stopped


class InProcess:
    """Where submissions of somebody who is trusted run.

    Args:
        probes: exercise -> probe -> function.
        draws: gives the inputs of an exercise when they are first needed.
    """

    def __init__(
        self, probes: Probes, draws: Callable[[str], Mapping[str, Tensor]], limits: Limits | None = None
    ) -> None:
        self.probes, self.draws = probes, draws
        self.limits = limits or Limits()
        self._blocker = Blocker()

    def run(self, job: Job, draws: Draws | None = None, *, owner: object = None, keep: bool = False) -> Run:
        """Run one submission and observe it. `owner` and `keep` mean nothing here."""
        run = Run()
        running = ["", ""]
        inputs = {name: self.draws(name) for name in job.exercises} if draws is None else draws

        def flood() -> NoReturn:
            raise Flood

        def loaded(found: Loaded) -> None:
            run.defined, run.cell_errors = tuple(found.defined), dict(found.errors)
            run.notes, run.called = tuple(found.notes), found.called

        def begin(exercise: str, probe: str) -> None:
            running[:] = [exercise, probe]

        def observed(seen: Observation) -> None:
            run.outcomes.setdefault(running[0], {})[running[1]] = seen

        output = Output(self.limits.kept_output, self.limits.output_bytes, flood)
        began = time.process_time()
        try:
            with room(output, job.modules, job.inert) as names:
                run_job(job, self.probes, inputs, self._blocker, names, loaded, begin, observed, interruptible=True)
        except Flood:
            detail = f"The code printed more than {self.limits.output_bytes:,} characters."
            run.stopped = Stopped("output", detail, *running)
        run.output = output.text()
        run.seconds = time.process_time() - began
        return run

    def dismiss(self) -> None:
        """There is no process to let go."""


class Flood(KeyboardInterrupt):
    """More was printed than anybody reads: as if somebody had pressed Ctrl-C."""
