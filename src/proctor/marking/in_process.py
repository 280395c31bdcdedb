"""The runner without walls: a submission runs in this process, for whoever trusts its author: a self-check.

It runs what the sandbox runs (`proctor.inside.running`), with the same set-up, the same imports and the same probes,
so that both come to the same verdict. Its limit of time is one of patience, and it does not bound memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from torch import Tensor

from proctor.examining.patience import OutOfTime, at_most
from proctor.forbid.replace import Blocker
from proctor.inside.observe import Observation, describe
from proctor.inside.running import Draws, Flood, Job, Loaded, Output, Probes, room, run_job
from proctor.sandbox import Limits, Run, Stopped


class InProcess:
    """Where submissions of somebody who is trusted run.

    Args:
        probes: exercise -> probe -> function.
        draws: gives the inputs of an exercise when they are first needed.
        names: what is in the namespace before the first cell, such as that of a notebook.
        patience: seconds by the clock that a probe, or loading the answers, may take.
    """

    def __init__(
        self,
        probes: Probes,
        draws: Callable[[str], Mapping[str, Tensor]],
        limits: Limits | None = None,
        names: Mapping[str, Any] | None = None,
        patience: float | None = None,
    ) -> None:
        self.probes, self.draws, self.names, self.patience = probes, draws, dict(names or {}), patience
        self.limits = limits or Limits()
        self._blocker = Blocker()

    def run(
        self,
        job: Job,
        draws: Draws | None = None,
        *,
        owner: object = None,
        counts: bool = True,
        teaches: bool = False,
    ) -> Run:
        """Run one submission and observe it. Only the job and the draws mean anything here."""
        run = Run()
        running = ["", ""]
        asked = {job.versions[name].exercise if name in job.versions else name for name in job.exercises}
        inputs = {name: self.draws(name) for name in asked} if draws is None else draws

        def flood() -> NoReturn:
            raise Flood

        def loaded(found: Loaded) -> None:
            run.defined, run.cell_errors = tuple(found.defined), dict(found.errors)
            run.notes, run.called = tuple(found.notes), found.called

        printed = [0]

        def begin(exercise: str, probe: str) -> None:
            running[:] = [exercise, probe]
            printed[0] = len(output.text())
            anew()

        def observed(seen: Observation) -> None:
            text = output.text()[printed[0] :]
            run.outcomes.setdefault(running[0], {})[running[1]] = replace(seen, printed=text) if text else seen

        output = Output(self.limits.kept_output, self.limits.output_bytes, flood)
        began = time.process_time()
        try:
            with room(output, job.modules, job.inert) as names, at_most(self.patience) as anew:
                names.update(self.names)
                run_job(job, self.probes, inputs, self._blocker, names, loaded, begin, observed, interruptible=True)
        except Flood:
            detail = f"The code printed more than {self.limits.output_bytes:,} characters."
            run.stopped = Stopped("output", detail, running[0], running[1])
        except OutOfTime as error:
            where = describe(error)
            detail = f"The code was still running after {self.patience:g} s{f', at {where.where}' * bool(where.where)}."
            run.stopped = Stopped("time", detail, running[0], running[1], where.line)
        run.output = output.text()
        run.seconds = time.process_time() - began
        return run

    def dismiss(self) -> None:
        """There is no process to let go."""
