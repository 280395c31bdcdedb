"""Material that tests of grading share: a sample assignment, and one sandbox for all of them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from proctor.grading.grade import salt_of
from proctor.grading.worker import Plan, close_sandbox, prepared, sandbox_of
from proctor.marking.mark import mark_submission
from proctor.marking.submissions import File
from proctor.sandbox import Limits, launch


def load(name: str) -> ModuleType:
    """A module that lies beside the tests, under its own name: probes travel with their module."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def sample() -> Any:
    return load("sample_assignment")


@pytest.fixture(scope="session")
def sample_norm() -> Any:
    return load("sample_norm")


@pytest.fixture(scope="session")
def plan(sample: Any) -> Plan:
    return Plan(sample.assignment, (None,), salt_of(1), Limits(seconds=4.0, memory_mb=512))


@pytest.fixture(scope="module")
def quick_start() -> Iterator[None]:
    """What these submissions never import is not imported beforehand, so that sandboxes start soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "PRELOAD", ("numpy",))
        yield


@pytest.fixture(scope="module")
def mark(plan: Plan, quick_start: None) -> Iterator[Any]:
    """Mark a submission that is given as text or as files: exercise -> result."""

    def mark(*files: File | str) -> dict[str, Any]:
        handed_in = [File("work.py", file.encode()) if isinstance(file, str) else file for file in files]
        results, mark.notes, mark.code = mark_submission(  # type: ignore[attr-defined]
            *prepared(plan), sandbox_of(plan), handed_in
        )
        return {result.exercise: result for result in results}

    yield mark
    close_sandbox()
