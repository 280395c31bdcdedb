"""A folder that `qkv start` begins: the notebooks, and advice for assistants under every name that they look for."""

from __future__ import annotations

from pathlib import Path

import pytest

from qkv.notebook import workspace

pytestmark = pytest.mark.quick


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a wheel carries."""
    folder = tmp_path / "packed"
    (folder / "notebooks").mkdir(parents=True)
    (folder / "notebooks" / "01_lookup.ipynb").write_text("{}")
    (folder / "AGENTS.md").write_text("coach, do not solve")
    monkeypatch.setattr(workspace, "PACKED", folder)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> workspace.Workspace:
    (tmp_path / "mine").mkdir()
    return workspace.of_folder(tmp_path / "mine")


def advice(place: workspace.Workspace) -> dict[str, str]:
    return {name: (place.root / name).read_text() for name in ("AGENTS.md", *workspace.ALSO_READ)}


def test_assistants_find_their_advice_by_every_name(packed: Path, place: workspace.Workspace) -> None:
    assert workspace.begin(place)
    assert set(advice(place).values()) == {"coach, do not solve"}
    (place.root / "AGENTS.md").write_text("mine")
    assert set(advice(place).values()) == {"mine"}, "one file, and links to it"
    assert not workspace.begin(place), "it has begun already"


def test_where_no_links_can_be_made_there_are_copies(
    packed: Path, place: workspace.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("a required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    assert workspace.begin(place)
    assert set(advice(place).values()) == {"coach, do not solve"}


def test_advice_of_ones_own_stays(packed: Path, place: workspace.Workspace) -> None:
    (place.root / "CLAUDE.md").write_text("my own rules")
    assert workspace.begin(place)
    assert advice(place)["CLAUDE.md"] == "my own rules"
    assert advice(place)["GEMINI.md"] == "coach, do not solve"
