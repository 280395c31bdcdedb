"""The book, built once for all tests of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from qkv import authoring


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real book, built strictly into a folder of its own."""
    out = tmp_path_factory.mktemp("book")
    said: list[str] = []
    assert authoring.book(say=said.append, out=out) == 0, "\n".join(said)
    return out / "_build" / "html"
