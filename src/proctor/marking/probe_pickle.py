"""Probes as bytes that the sandbox can load without having the exercises' files.

Only probes travel: neither references nor misconceptions, and no module of the course. What a probe needs of its own
package goes with it by value; torch and what `AT_HOME` names are found in the sandbox.
"""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from collections.abc import Iterable
from typing import Any

import cloudpickle

from proctor.examining.exercise import Exercise

AT_HOME = ("proctor.inside.inputs", "proctor.inside.properties", "proctor.inside.situations")  # there as here
LIBRARIES = (
    "torch",
    "math",
    "builtins",
    "collections",
    "functools",
    "itertools",
    "operator",
    "_operator",
    "types",
    "typing",
)


class NotPortable(ValueError):
    """A probe needs something that must not be in the sandbox."""


def dumps(exercises: Iterable[Exercise]) -> bytes:
    """Bytes of {exercise: {probe: function}}, to be loaded by cloudpickle in the sandbox before student code exists
    there."""
    chosen = list(exercises)
    files = {sys.modules[p.function.__module__] for e in chosen for p in e.probes.values()}
    packages = {m.__package__ or m.__name__ for m in files if m.__name__ not in AT_HOME}
    by_value = [sys.modules[name] for name in packages]
    for module in by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps({e.name: {n: p.function for n, p in e.probes.items()} for e in chosen}))
    finally:
        for module in by_value:
            cloudpickle.unregister_pickle_by_value(module)


class _RecordingUnpickler(pickle.Unpickler):
    """An unpickler that loads as the sandbox does, and records every module it imports."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(io.BytesIO(payload))
        self.asked: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if module.startswith("cloudpickle"):
            return self._import if name == "subimport" else found
        self.asked.add(module)
        return found

    def _import(self, name: str) -> Any:
        self.asked.add(name)
        return importlib.import_module(name)


def needs(exercise: Exercise) -> set[str]:
    """The modules that an exercise's probes import in the sandbox."""
    watched = _RecordingUnpickler(dumps([exercise]))
    watched.load()
    return watched.asked


def check_portable(exercise: Exercise) -> None:
    """Raise NotPortable if a probe would carry or import what the sandbox must not see."""
    foreign = sorted(m for m in needs(exercise) if m not in AT_HOME and m.split(".")[0] not in LIBRARIES)
    if foreign:
        allowed = ", ".join((*LIBRARIES, *AT_HOME))
        raise NotPortable(
            f"the probes of {exercise.name} use {', '.join(foreign)}; in the sandbox there is only {allowed}"
        )
