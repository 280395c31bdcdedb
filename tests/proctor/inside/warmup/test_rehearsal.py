"""A rehearsal reaches every probe, and leaves nothing behind that a student could trip over."""

from __future__ import annotations

import builtins
import sys
from dataclasses import asdict
from typing import Any

import torch

from proctor.inside.warmup import rehearsal
from proctor.sandbox import Limits


def test_it_calls_every_probe_with_a_function_and_with_a_class() -> None:
    met: list[tuple[str, bool]] = []

    def probe(name: str) -> Any:
        def look(implementation: Any) -> dict[str, torch.Tensor]:
            met.append((name, isinstance(implementation, type)))
            return {"output": torch.zeros(2)}

        return look

    rehearsal.rehearse({"doubled": {"one": probe("one"), "two": probe("two")}}, {}, asdict(Limits()))
    assert set(met) == {("one", False), ("two", False), ("one", True), ("two", True)}


def test_it_leaves_everything_as_it_was() -> None:
    def state() -> list[object]:
        tables = vars(builtins), vars(torch.nn.functional), {n: m for n, m in vars(sys).items() if n != "modules"}
        theirs = {name: sys.modules.get(name) for name in ("__main__", "submission", "rehearsed")}
        return [dict(table) for table in tables] + [list(sys.meta_path), theirs]

    before = state()
    rehearsal.rehearse({"doubled": {"one": lambda f: {"output": f(torch.zeros(2))}}}, {}, asdict(Limits()))
    assert state() == before
