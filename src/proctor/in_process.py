"""The runner without walls: a submission runs in this process, for whoever trusts its author. `qkv check` does.

It runs what the sandbox runs (`proctor.running`), with the same set-up, the same imports and the same probes, so that
both come to the same verdict. It does not bound time or memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NoReturn

from torch import Tensor

from proctor.kernels import Blocker
from proctor.observe import Observation
from proctor.running import Draws, Job, Loaded, Output, Probes, room, run_job
from proctor.sandbox import Limits, Sitting, Stopped


class InProcess:
    """Where submissions of somebody who is trusted sit.

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

    def sit(self, job: Job, draws: Draws | None = None, *, visitor: object = None, keep: bool = False) -> Sitting:
        """Run one submission and observe it. `visitor` and `keep` mean nothing here."""
        sitting = Sitting()
        running = ["", ""]
        inputs = {name: self.draws(name) for name in job.exercises} if draws is None else draws

        def flood() -> NoReturn:
            raise Flood

        def loaded(found: Loaded) -> None:
            sitting.defined, sitting.cell_errors = tuple(found.defined), dict(found.errors)
            sitting.notes, sitting.called = tuple(found.notes), found.called

        def begin(exercise: str, probe: str) -> None:
            running[:] = [exercise, probe]

        def observed(seen: Observation) -> None:
            sitting.outcomes.setdefault(running[0], {})[running[1]] = seen

        output = Output(self.limits.kept_output, self.limits.output_bytes, flood)
        began = time.process_time()
        try:
            with room(output, job.modules, job.inert) as names:
                run_job(job, self.probes, inputs, self._blocker, names, loaded, begin, observed, interruptible=True)
        except Flood:
            detail = f"The code printed more than {self.limits.output_bytes:,} characters."
            sitting.stopped = Stopped("output", detail, *running)
        sitting.output = output.text()
        sitting.seconds = time.process_time() - began
        return sitting

    def dismiss(self) -> None:
        """There is no process to let go."""


class Flood(KeyboardInterrupt):
    """More was printed than anybody reads: as if somebody had pressed Ctrl-C."""
