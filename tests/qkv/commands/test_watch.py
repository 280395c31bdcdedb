"""`qkv watch`: a check on every save, which says what is new."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qkv.commands.watch import watch_file

RIGHT = """import torch
def softmax(scores, dim):
    powers = torch.exp(scores - scores.amax(dim, keepdim=True))
    return powers / powers.sum(dim, keepdim=True)
"""
WRONG = "def softmax(scores, dim):\n    return scores.exp() / scores.exp().sum(dim, keepdim=True)\n"


def test_every_save_is_checked_and_only_news_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QKV_PROGRESS", "off")
    path = tmp_path / "work.py"
    path.write_text(WRONG)
    said: list[str] = []

    def life() -> Iterator[None]:
        """What happens while it waits: nothing, a save that changes nothing, two saves, Ctrl-C."""
        yield
        path.write_text(WRONG)
        yield
        path.unlink()  # as some editors do on their way
        yield
        path.write_text(RIGHT)
        yield
        path.write_text("def softmax(")
        yield
        raise KeyboardInterrupt

    going = life()
    assert watch_file(path, said.append, lambda seconds: next(going)) == 0
    assert [line.split(" (")[0].split("  ")[-1] for line in said] == [
        "softmax: not yet",
        "Next in this file: 1.1 softmax",
        "1 not yet. Waiting for the next save; Ctrl-C ends.",
        "softmax: passed",
        "All exercises of this file pass. Next: similarity_scores; `qkv stub 01` writes the stubs of its chapter.",
        "1 passed. Waiting for the next save; Ctrl-C ends.",
        "softmax: stopped",
        "Next in this file: 1.1 softmax",
        "1 stopped. Waiting for the next save; Ctrl-C ends.",
    ]
    assert "qkv hint softmax" in said[0], "a command, where there is no cell for a call"
    assert "syntax error" in said[6]
