"""`check(f).case`: the situation of the evidence to play with: its inputs, your result, the expected one.

The numbers are the notebook's own, which everybody has; those of a graded run are drawn anew and stay secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from torch import Tensor

from proctor import Examiner
from proctor.examining.labels import called_with
from proctor.inside.inputs import Replay, drawing
from proctor.inside.observe import Observation, fresh_state, observe


@dataclass(frozen=True)
class Case:
    """One situation in which an answer differs.

    Args:
        inputs: the arguments of the last call, by name; where the code raised, of the call in which it did. For a
            class, those of calling the module.
        yours, expected: results by the names of the evidence; where the code raised, yours is empty.
    """

    situation: str
    inputs: dict[str, Any]
    yours: dict[str, Tensor]
    expected: dict[str, Tensor]

    def __repr__(self) -> str:
        def shapes(values: dict[str, Any]) -> str:
            return ", ".join(f"{n} {tuple(v.shape) if isinstance(v, Tensor) else v!r}" for n, v in values.items())

        return (
            f"Case on {self.situation}\n  inputs: {shapes(self.inputs)}\n  yours: {shapes(self.yours)}\n"
            f"  expected: {shapes(self.expected)}"
        )


def case_of(examiner: Examiner, probe_name: str, seen: Mapping[str, Observation], answer: Any = None) -> Case | None:
    """The case of one probe; None if the answer was not seen there.

    Args:
        seen: what the probes saw of the answer.
        answer: the function itself, which runs once more if it raised: in which of several calls?
    """
    probe = examiner.exercise.probes.get(probe_name)
    expected = examiner.expected[probe_name].observation.values if probe is not None else None
    if probe is None or probe_name not in seen or expected is None:
        return None
    yours = seen[probe_name].values or {}
    calls: list[dict[str, Any]] = []
    watched = called_with(examiner.exercise.reference, calls, None if yours else answer)
    with drawing(Replay(examiner.draws)), fresh_state(), redirect_stdout(StringIO()):
        observe(probe.function, watched)
    spoken = examiner.spoken(probe_name)
    mine, ours = ({spoken(label): value for label, value in found.items()} for found in (yours, expected))
    return Case(probe.situation, dict(calls[-1]) if calls else {}, mine, ours)
