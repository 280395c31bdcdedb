"""The record of one run, assembled from frames that may be hostile.

Guarantees: only exercises and probes that were asked for get in, each once; text is printable and short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from proctor.inside import frames, protocol
from proctor.inside.frames import Garbage, clean
from proctor.inside.observe import Observation, Raised

MOST_ERRORS = 40  # cells whose errors are kept
SMALL = 8192  # bytes of an observation that is cached; nearly all are smaller


@dataclass(frozen=True)
class Stopped:
    """The reason why a run ended early.

    Args:
        reason: time | memory | output | size | result | exit | crash | garbage | sandbox.
        detail: one sentence for an instructor. It may hold hostile text: escape it where it is shown.
        exercise, probe: what was running; empty if the submission was still being loaded.
        line: the student's line that was running, where that is known.
        advice: what to do, for somebody at a keyboard.
    """

    reason: str
    detail: str
    exercise: str = ""
    probe: str = ""
    line: int | None = None
    advice: str = ""


@dataclass
class Run:
    """The record of one run.

    Args:
        outcomes: exercise -> probe -> what was observed. Probes that were not reached are absent.
        defined: exercises for which the submission defines something that can be called.
        cell_errors: label -> what a cell raised when it was run.
        notes: imports that failed, in words.
        called: forbidden things that were called while cells ran.
        output: the beginning of what was printed.
        stopped: None if the code ran to its end.
        seconds: processor time, as the child tells; the limit if that stopped it.
    """

    outcomes: dict[str, dict[str, Observation]] = field(default_factory=dict)
    defined: tuple[str, ...] = ()
    cell_errors: dict[str, Raised] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    output: str = ""
    stopped: Stopped | None = None
    seconds: float = 0.0

    def went_well(self, asked: Mapping[str, Sequence[str]]) -> bool:
        """Did all requested probes end in values?"""
        seen = self.outcomes
        values = (seen.get(name, {}).get(probe) for name, probes in asked.items() for probe in probes)
        return self.stopped is None and not self.cell_errors and all(v and v.values is not None for v in values)


def parse_begin(payload: bytes, asked: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """The exercise and probe of a BEGIN frame; they must be among those requested."""
    exercise, probe = frames.from_pair(payload)
    if probe not in asked.get(exercise, ()):
        raise Garbage("about a probe that was not asked for")
    return exercise, probe


def _raised(parts: object) -> Raised:
    if not isinstance(parts, list) or len(parts) != 4:
        raise Garbage("an error has four parts")
    return Raised(clean(parts[0], 100), clean(parts[1], 2000), clean(parts[2], 500), clean(parts[3], 200))


def _texts(values: object, count: int, length: int) -> tuple[str, ...]:
    if not isinstance(values, list) or len(values) > count:
        raise Garbage("a short list of texts expected")
    return tuple(clean(value, length) for value in values)


def store_definitions(report: Mapping[str, Any], asked: Mapping[str, Sequence[str]], run: Run) -> None:
    errors = report.get("errors")
    if run.defined or not isinstance(errors, dict):
        raise Garbage("a second list of definitions, or none")
    run.defined = tuple(name for name in _texts(report.get("defined"), len(asked), 200) if name in asked)
    run.cell_errors = {clean(label, 300): _raised(parts) for label, parts in list(errors.items())[:MOST_ERRORS]}
    run.notes = _texts(report.get("notes"), 20, 500)
    run.called = _texts(report.get("called"), 20, 200)


def store_observation(payload: bytes, running: tuple[str, str], run: Run) -> None:
    """Store an OBSERVED frame under the probe announced by the last BEGIN frame."""
    observation = _known_observation(payload) if len(payload) <= SMALL else observation_of(payload)
    exercise, probe = running
    if not probe:
        raise Garbage("about no probe")
    seen = run.outcomes.setdefault(exercise, {})
    if probe in seen:
        raise Garbage("a second answer to the same probe")
    seen[probe] = observation


def observation_of(payload: bytes) -> Observation:
    """An observation from its bytes; a note says what was raised, and what was called."""
    values, note = protocol.decode(payload)
    if note is None:
        return Observation(values)
    if not isinstance(note, dict):
        raise Garbage("a note has names")
    raised = None if note.get("raised") is None else _raised(note["raised"])
    called, deprecated = _texts(note.get("called"), 20, 200), _texts(note.get("deprecated"), 3, 300)
    return Observation(values if raised is None else None, raised, called, deprecated)


# In a class the same bytes come again and again: they are read once, and give one object, by which a verdict that was
# given before is known (`proctor.examining.caching`).
_known_observation = lru_cache(maxsize=8192)(observation_of)
